#include "sim/search/workflow_parts.h"

#include <algorithm>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

constexpr const char* kTopicOfGates = "job.cordum.approval-gate";

}  // namespace

void open_workshop(Dice& dice, Document& scenario, int engines_min) {
    Document& cluster = scenario["cluster"];
    // Either kind of replica, or both; never fewer than are needed.
    if (engines_min <= replicas(scenario) && dice.chance(0.4)) cluster["schedulers_run_workflows"] = true;
    if (!cluster.contains("schedulers_run_workflows") || dice.chance(0.2))
        cluster["workflow_engines"] = dice.between(engines_min, std::max(engines_min, 3));
    Document& rules = cluster["kernel"]["policy"]["rules"];
    rules.push_back({{"id", "gates"}, {"match", {{"topics", {kTopicOfGates}}}}, {"decision", "require_approval"}});
    // What is approved is read back from what a gateway has stored.
    cluster.erase("gateway");
    // One mark for the whole stream silences one of the services.
    if (cluster.contains("config")) cluster["config"].erase("bus_guard_key_scope");
}

void put_workflow(Document& scenario, std::string id, Document steps, int timeout_sec, std::string at) {
    Document definition = {{"id", std::move(id)}, {"org_id", "default"}, {"steps", std::move(steps)}};
    if (timeout_sec > 0) definition["timeout_sec"] = timeout_sec;
    add_load(scenario, {{"at", std::move(at)}, {"workflow", {{"put", std::move(definition)}}}});
}

Document run_started(std::string at, const char* workflow, std::string run, Document input) {
    return {{"at", std::move(at)},
            {"workflow", {{"start", workflow}, {"run", std::move(run)}, {"input", std::move(input)}}}};
}

Document work_step() { return {{"type", "worker"}, {"topic", "job.default"}}; }

Document drawn_retry(Dice& dice) {
    Document retry = {{"max_retries", dice.between(1, 3)}, {"initial_backoff_sec", dice.between(1, 12)}};
    if (dice.chance(0.4)) retry["multiplier"] = 3;
    if (dice.chance(0.3)) retry["max_backoff_sec"] = dice.between(2, 20);
    return retry;
}

}  // namespace lockstep::sim
