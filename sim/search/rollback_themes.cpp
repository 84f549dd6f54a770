#include "sim/search/rollback_themes.h"

#include <string>
#include <utility>

#include "sim/search/disturbances.h"
#include "sim/search/request_themes.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// Policy is asked about a step of a rollback, and thinks better of it while the one who asked is away.
void add_change_of_mind(Dice& dice, Document& scenario) {
    const Document on = {
        {"event", "kernel_check"}, {"job", "comp-*"}, {"when", "applied"}, {"nth", dice.on_every_scale(4)}};
    add_fault(
        scenario,
        {{"on", on}, {"do", "pause"}, {"target", "actor"}, {"for", dice.word({"5s", "8s", "12s", "20s", "40s"})}});
    add_fault(scenario, {{"on", on},
                         {"do", "kernel.decision"},
                         {"decision", dice.word({"deny", "deny", "throttle"})},
                         {"for", dice.word({"20s", "40s"})}});
}

/// The rollback's lock runs out while its owner is away, and the call that finds out is still waited for.
void add_lapse_of_the_lock(Dice& dice, Document& scenario) {
    config(scenario)["saga_lock_ttl"] = "10s";
    config(scenario)["store_op_timeout"] = "20s";
    const Document on = {{"event", "redis"}, {"script", "saga_next"}, {"when", "before"}, {"nth", dice.between(2, 5)}};
    add_fault(scenario, {{"on", on}, {"do", "pause"}, {"target", "actor"}, {"for", dice.word({"11s", "13s", "16s"})}});
}

/// Two tenants share a stack. One of them comes across what the other has recorded, again and again.
void add_stack_of_two(Dice& dice, Document& scenario) {
    config(scenario)["saga_entry_max_age"] = "30s";
    for (int i = dice.between(1, 2); i > 0; --i)
        workflow_step(scenario, dice.seconds(2, 10), "job.book", "", true, "initech");
    for (const int at : {dice.between(12, 30), dice.between(50, 70), dice.between(80, 120)}) {
        workflow_step(scenario, fmt::format("{}s", at), "job.book", "", true, "acme");
        workflow_step(scenario, fmt::format("{}s", at + 5), "job.fail", "", false, "acme");
    }
}

}  // namespace

void rollbacks(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    Document& cluster = scenario["cluster"];
    open_travel_agency(cluster);
    Document& settings = cluster["config"];
    settings["saga_lock_ttl"] = dice.word({"10s", "30s", "2m"});
    settings["saga_rollback_timeout"] = dice.word({"15s", "30s"});
    for (int run = dice.between(1, 2); run > 0; --run) {
        const std::string name = dice.chance(0.8) ? fmt::format("trip-{}", run) : std::string{};
        for (int step = dice.between(2, 6); step > 0; --step) {
            workflow_step(scenario, dice.seconds(2, 10), "job.book", name, true);
            if (dice.chance(0.4)) embellish_compensation(dice, scenario["load"].back()["job"]["compensation"]);
        }
        workflow_step(scenario, dice.seconds(12, 30), "job.fail", name, false);
    }
    Document faults = Document::array();
    for (int i = dice.between(1, 2); i > 0; --i) {
        switch (dice.between(0, 4)) {
            case 0:
                add_preemption_at(dice, {{"event", "publish"}, {"subject", "sys.job.submit"}, {"job", "comp-*"}}, 8,
                                  faults);
                break;
            case 1: add_preemption_at(dice, {{"event", "kernel_check"}, {"job", "comp-*"}}, 8, faults); break;
            case 2: add_preemption_at(dice, {{"event", "redis"}, {"key", "*saga:*"}}, 16, faults); break;
            case 3:
                add_preemption_at(dice, {{"event", "redis"}, {"key", "*lock*"}, {"node", "scheduler-*"}}, 32, faults);
                break;
            default:
                add_preemption_at(dice, {{"event", "state"}, {"to", dice.word({"SUCCEEDED", "FAILED"})}}, 8, faults);
                break;
        }
    }
    for (Document& fault : faults) add_fault(scenario, std::move(fault));
    if (!scenario["cluster"].contains("gateway"))
        for (Document& line : scenario["load"])
            if (line.contains("job") && line["job"].contains("compensation") && dice.chance(0.5))
                embellish(dice, line["job"]);
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", dice.seconds(12, 35)},
                             {"do", "nats.publish_errors"},
                             {"job", "comp-*"},
                             {"outcome", dice.word({"not_applied", "unknown", "lost"})},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"2s", "10s", "30s"})}});
    if (dice.chance(0.4))
        add_fault(scenario, {{"on", {{"event", "kernel_check"}, {"job", "comp-*"}, {"nth", dice.on_every_scale(6)}}},
                             {"do", "kernel.decision"},
                             {"decision", dice.word({"deny", "throttle"})},
                             {"for", dice.word({"5s", "20s", "40s"})}});
    if (dice.chance(0.5)) add_change_of_mind(dice, scenario);
    if (dice.chance(0.4)) add_script_failing_when_called(dice, scenario, "saga_next");
    if (dice.chance(0.3)) add_lapse_of_the_lock(dice, scenario);
    if (dice.chance(0.3)) add_stack_of_two(dice, scenario);
}

void crowded_rollbacks(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    open_travel_agency(scenario["cluster"]);
    Document& settings = config(scenario);
    settings["saga_lock_ttl"] = "10s";
    settings["saga_rollback_timeout"] = dice.word({"15s", "30s"});
    settings["saga_entry_max_age"] = dice.word({"30s", "1m"});
    const int end = dice.between(12, 20);
    const auto second = [](int time) { return fmt::format("{}s", time); };
    for (int run = dice.between(3, 5); run > 0; --run) {
        const std::string name = fmt::format("tour-{}", run);
        const std::string tenant = dice.word({"acme", "initech"});
        for (int step = dice.between(2, 5); step > 0; --step) {
            workflow_step(scenario, dice.seconds(2, 8), "job.book", name, true, tenant.c_str());
            Document& job = scenario["load"].back()["job"];
            // As long as it takes until nothing is rolled back any more.
            if (dice.chance(0.25)) job["env"]["SIM_SERVICE_MS"] = dice.word({"12000", "25000"});
        }
        workflow_step(scenario, second(end), "job.fail", name, false, tenant.c_str());
        if (dice.chance(0.3)) workflow_step(scenario, second(end + 35), "job.fail", name, false, tenant.c_str());
    }
    // Without runs, all of them share a stack.
    for (const char* tenant : {"acme", "initech"}) {
        for (int i = dice.between(1, 2); i > 0; --i)
            workflow_step(scenario, dice.seconds(2, 10), "job.book", "", true, tenant);
    }
    for (const int at : {dice.between(12, 30), dice.between(50, 70), dice.between(80, 120)})
        workflow_step(scenario, second(at), "job.fail", "", false, dice.chance(0.5) ? "acme" : "initech");
    if (dice.chance(0.6))
        add_fault(scenario, {{"at", second(end)},
                             {"do", "kernel.latency"},
                             {"job", "comp-*"},
                             {"latency", dice.word({"800ms", "1500ms", "1900ms"})},
                             {"for", dice.word({"20s", "60s"})}});
    if (dice.chance(0.4))
        add_preemption_at(dice, {{"event", "publish"}, {"subject", "sys.job.submit"}, {"job", "comp-*"}}, 8,
                          scenario["faults"]);
}

}  // namespace lockstep::sim
