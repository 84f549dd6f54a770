#include "sim/search/step_themes.h"

#include <string>
#include <utility>

#include "sim/search/theme_parts.h"
#include "sim/search/workflow_parts.h"

namespace lockstep::sim {

namespace {

constexpr const char* kTopicOfFailures = "job.flaky";

/// Workers of their own for what is to fail.
void hire_unreliable_workers(Document& scenario, Document service_time, Document outcomes) {
    Document& cluster = scenario["cluster"];
    Document& pools = pools_of(cluster);
    pools["topics"][kTopicOfFailures] = {"flaky"};
    pools["pools"]["flaky"] = {{"requires", Document::array()}};
    cluster["workers"].push_back({{"id", "flaky"},
                                  {"count", 2},
                                  {"pool", "flaky"},
                                  {"max_parallel_jobs", 8},
                                  {"service_time", std::move(service_time)},
                                  {"outcomes", std::move(outcomes)}});
}

Document unreliable() { return {{"type", "worker"}, {"topic", kTopicOfFailures}}; }

Document after(Document step, const char* other) {
    step["depends_on"] = {other};
    return step;
}

/// What is told of a try comes when the next one has begun.
void tell_again(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(2, 30)},
                             {"do", dice.word({"nats.lost_acks", "nats.lost_acks", "nats.duplicate"})},
                             {"subject", "sys.job.result"},
                             {"rate", dice.share({0.3, 0.6, 1.0})},
                             {"for", dice.word({"10s", "40s"})}});
    if (dice.chance(0.6)) config(scenario)["bus_ack_wait"] = dice.word({"5s", "10s", "30s"});
}

}  // namespace

void failing_steps(Dice& dice, Document& scenario) {
    open_workshop(dice, scenario, 1);
    hire_unreliable_workers(
        scenario, {{"dist", "uniform"}, {"min", "100ms"}, {"max", dice.word({"500ms", "5s", "20s"})}},
        {{"SUCCEEDED", dice.share({0.2, 0.4, 0.7})}, {"FAILED", 0.4}, {"FAILED_FATAL", dice.share({0.0, 0.1, 0.3})}});
    Document tried = unreliable();
    tried["retry"] = {{"max_retries", dice.between(1, 3)}, {"initial_backoff_sec", dice.between(1, 3)}};
    if (dice.chance(0.7)) tried["on_error"] = "mend";
    if (dice.chance(0.4)) tried["compensation"] = {{"topic", "job.default"}};
    Document steps = {{"seen", {{"type", "transform"}, {"input", {{"n", "${input.n}"}, {"none", "${input.gone}"}}}}},
                      {"after", after(work_step(), "tried")}};
    if (tried.contains("on_error")) steps["mend"] = dice.chance(0.8) ? work_step() : unreliable();
    steps["tried"] = std::move(tried);
    steps["asked"] = work_step();
    steps["asked"]["condition"] = dice.word({"input.n", "input.n % 2", "input.said", "input.gone"});
    steps["each"] = unreliable();
    steps["each"]["for_each"] = "input.list";
    steps["each"]["retry"] = {{"max_retries", 1}, {"initial_backoff_sec", 1}};
    put_workflow(scenario, "flaky", std::move(steps));
    for (int i = dice.between(2, 6); i > 0; --i) {
        Document input = {{"n", dice.between(0, 2)}, {"said", dice.word({"", "yes"})}, {"list", {1, 2}}};
        add_load(scenario, run_started(dice.seconds(3, 20), "flaky", fmt::format("flaky-{}", i), std::move(input)));
    }
    if (dice.chance(0.7)) tell_again(dice, scenario);
}

void sleeping_runs(Dice& dice, Document& scenario) {
    open_workshop(dice, scenario, 1);
    config(scenario)["wf_run_scan_limit"] = dice.between(1, 3);
    config(scenario)["wf_scan_interval"] = dice.word({"2s", "5s", "10s"});
    hire_unreliable_workers(scenario, "1s", {{"SUCCEEDED", 0.3}, {"hang", 0.7}});
    // In half of the draws for longer than anybody watches.
    const int asleep = dice.chance(0.5) ? dice.between(2500, 4000) : 20'000;
    put_workflow(scenario, "sleeps", {{"wait", {{"type", "delay"}, {"delay_sec", asleep}}}});
    put_workflow(scenario, "hangs", {{"lost", unreliable()}, {"after", after(work_step(), "lost")}});
    for (int i = dice.between(3, 6); i > 0; --i)
        add_load(scenario, run_started("2s", "sleeps", fmt::format("sleeps-{}", i)));
    for (int i = dice.between(2, 4); i > 0; --i)
        add_load(scenario, run_started(dice.seconds(4, 30), "hangs", fmt::format("hangs-{}", i)));
}

}  // namespace lockstep::sim
