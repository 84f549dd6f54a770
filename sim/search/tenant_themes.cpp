#include "sim/search/tenant_themes.h"

#include <string>
#include <utility>

#include "sim/search/disturbances.h"
#include "sim/search/server_themes.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// Jobs of a tenant end otherwise than by their results: an operator cancels those that wait and those that run. And whoever
/// ends one, and with that wakes another, does not live to take it up.
void add_other_ends(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 4); i > 0; --i) {
        const std::string id = fmt::format("acme-{}", i);
        add_load(scenario, {{"at", dice.seconds(3, 20)}, {"job", {{"job_id", id}, {"tenant_id", "acme"}}}});
        if (dice.chance(0.7)) add_load(scenario, {{"at", dice.seconds(5, 60)}, {"cancel", id}});
    }
    if (!dice.chance(0.4)) return;
    const Document on = dice.chance(0.5) ? Document{{"event", "reached"}, {"name", "woken_for_a_slot"}}
                                         : Document{{"event", "state"}, {"to", dice.word({"SUCCEEDED", "FAILED"})}};
    add_preemption_at(dice, on, 16, scenario["faults"]);
}

constexpr const char* kGateTopic = "job.cordum.approval-gate";

/// An approval is written down, and its job does not leave the state in which it waits; meanwhile somebody submits it again.
void add_half_an_approval(Dice& dice, Document& scenario, Document job) {
    scenario["cluster"].erase("gateway");
    const int at = dice.between(25, 60);
    add_load(scenario, {{"at", fmt::format("{}s", at)}, {"approve", job["job_id"]}});
    add_fault(scenario, {{"at", fmt::format("{}s", at - 1)},
                         {"do", "redis.errors"},
                         {"script", "gateway_set_state"},
                         {"job", job["job_id"]},
                         {"outcome", "not_applied"},
                         {"for", dice.word({"10s", "30s"})}});
    job["tenant_id"] = "default";
    add_load(scenario, {{"at", fmt::format("{}s", at + dice.between(1, 5))},
                        {"forge", {{"job_request", std::move(job)}}},
                        {"count", dice.between(1, 4)},
                        {"rate", "1/s"}});
}

/// Documents of tenants that forbid, and of a team, a workflow and a step that would lift that; and now and then one that is no
/// document at all, until somebody puts it right.
void layered_settings(Dice& dice, Document& scenario) {
    const auto safety = [](Document content) { return Document{{"safety", std::move(content)}}; };
    const Document sound = dice.chance(0.5) ? safety({{"denied_topics", {"job.pay", "job.secret"}}})
                                            : safety({{"allowed_topics", {"job.default", "job.b*", "job.fail"}}});
    const Document lifts = dice.chance(0.5)
                               ? safety({{"denied_topics", Document::array()}, {"allowed_topics", {"job.*"}}})
                               : Document{{"safety", nullptr}};
    const std::string chosen = dice.word({"team:ops", "workflow:travel", "step:pay"});
    add_fault(scenario, {{"at", "500ms"}, {"do", "config.update"}, {"layers", {{"org:acme", sound}, {chosen, lifts}}}});
    if (!dice.chance(0.4)) return;
    const std::string broken = dice.chance(0.5) ? std::string("org:acme") : chosen;
    add_fault(scenario,
              {{"at", dice.seconds(1, 30)}, {"do", "config.update"}, {"layers", {{broken, "{ \"data\": [[["}}}});
    add_fault(scenario, {{"at", dice.seconds(31, 60)},
                         {"do", "config.update"},
                         {"layers", {{broken, broken == chosen ? lifts : sound}}}});
}

/// What a submission may say that is not true: whose it is, what policy has decided, which settings hold.
void add_lie(Dice& dice, Document& job) {
    const char* other = job["tenant_id"] == "acme" ? "initech" : "acme";
    switch (dice.between(0, 6)) {
        case 0: job["meta"]["tenant_id"] = other; break;
        case 1: job["env"]["tenant_id"] = other; break;
        case 2:
            job["labels"]["safety_bypassed"] = "true";
            job["labels"]["safety_bypass_reason"] = "trust me";
            break;
        case 3: job["env"]["CORDUM_MAX_RETRIES"] = "99"; break;
        case 4:
            job["env"][dice.word({"CORDUM_POLICY_CONSTRAINTS", "CORDUM_EFFECTIVE_CONFIG", "CORDUM_REDACTION_LEVEL",
                                  "CORDUM_MAX_ARTIFACT_BYTES", "CORDUM_MAX_CONCURRENT_JOBS"})] = "{ }";
            break;
        case 5: job["env"]["team_id"] = "ops"; break;
        default: job["tenant_id"] = "  acme "; break;
    }
}

}  // namespace

void tenants(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    Document& kernel = scenario["cluster"]["kernel"];
    kernel["policy"]["rules"].push_back(
        {{"id", "tenants"},
         {"match", {{"tenants", {"acme", "initech"}}}},
         {"decision", "allow_with_constraints"},
         {"constraints", {{"budgets", {{"max_concurrent_jobs", dice.between(1, 3)}}}}}});
    if (dice.chance(0.5)) kernel["latency"] = dice.word({"20ms", "200ms", "500ms"});
    for (const char* tenant : {"acme", "initech"}) {
        for (int burst = dice.between(0, 2); burst > 0; --burst)
            add_load(scenario,
                     {{"at", dice.seconds(3, 20)}, {"count", dice.between(2, 10)}, {"job", {{"tenant_id", tenant}}}});
    }
    if (dice.chance(0.5)) add_other_ends(dice, scenario);
    if (dice.chance(0.3)) hiccups(dice, scenario);
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(1, 5)},
                             {"do", "slow_link"},
                             {"a", dice.word({"schedulers", "scheduler-0"})},
                             {"b", "redis"},
                             {"latency", dice.word({"20ms", "100ms", "300ms"})},
                             {"for", "30s"}});
}

void approvals(Dice& dice, Document& scenario) {
    pools_of(scenario["cluster"])["topics"][kGateTopic] = Document::array({"default"});
    for (int i = dice.between(1, 4); i > 0; --i) {
        const std::string id = fmt::format("gate-{}", i);
        Document job = {{"job_id", id}, {"topic", "job.default"}, {"labels", {{"needs", "a human"}}}};
        if (dice.chance(0.3)) job["labels"]["approval_granted"] = "true";
        if (dice.chance(0.4)) job["topic"] = kGateTopic;
        if (dice.chance(0.25)) job["meta"]["requires"] = {"quantum"};  // which no pool has
        add_load(scenario, {{"at", dice.seconds(2, 20)}, {"job", job}});
        for (int approval = dice.between(0, 2); approval > 0; --approval)
            add_load(scenario, {{"at", dice.seconds(3, 120)}, {"approve", id}});
        if (dice.chance(0.5)) add_half_an_approval(dice, scenario, std::move(job));
        if (dice.chance(0.2)) add_load(scenario, {{"at", dice.seconds(3, 120)}, {"cancel", id}});
    }
    if (dice.chance(0.3))
        add_fault(scenario, {{"at", dice.seconds(3, 60)},
                             {"do", "redis.errors"},
                             {"commands", {"HMGET"}},
                             {"outcome", dice.word({"not_applied", "unknown"})},
                             {"for", dice.word({"10s", "60s"})}});
}

void mutated_submissions(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster.erase("gateway");
    if (dice.chance(0.7)) layered_settings(dice, scenario);
    for (int i = dice.between(2, 8); i > 0; --i) {
        Document job = {{"job_id", fmt::format("liar-{}", i)}, {"tenant_id", dice.word({"acme", "initech"})}};
        if (dice.chance(0.3)) job["workflow_id"] = "travel";
        if (dice.chance(0.3)) job["env"]["step_id"] = "pay";
        const bool asks = dice.chance(0.2);
        if (asks) job["labels"]["needs"] = "a human";
        for (int lies = dice.between(1, 2); lies > 0; --lies) add_lie(dice, job);
        add_load(scenario, {{"at", dice.seconds(2, 40)}, {"job", job}});
        if (asks) add_load(scenario, {{"at", dice.seconds(41, 90)}, {"approve", job["job_id"]}});
    }
    if (dice.chance(0.5)) return;
    open_travel_agency(cluster);
    const std::string run = dice.chance(0.6) ? "trip-1" : "";
    for (const char* tenant : {"acme", "initech"}) {
        for (int step = dice.between(1, 3); step > 0; --step)
            workflow_step(scenario, dice.seconds(2, 10), "job.book", run, true, tenant);
        if (dice.chance(0.6)) workflow_step(scenario, dice.seconds(12, 40), "job.fail", run, false, tenant);
    }
}

}  // namespace lockstep::sim
