#include "sim/search/worker_themes.h"

#include <array>
#include <utility>

#include "sim/search/disturbances.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// A job has just been given to a worker: workers are lost, and the replica is away while that comes to light.
void add_loss_while_away(Dice& dice, Document& scenario) {
    const Document on = {{"event", "state"}, {"to", "DISPATCHED"}, {"nth", dice.on_every_scale(20)}};
    add_fault(scenario, {{"on", on},
                         {"do", dice.word({"crash", "worker.silence"})},
                         {"target", dice.word({"w-0", "workers"})},
                         {"for", dice.word({"20s", "40s", "2m"})}});
    add_fault(scenario,
              {{"on", on}, {"do", "pause"}, {"target", "actor"}, {"for", dice.word({"8s", "15s", "25s", "40s"})}});
}

/// What is sent leaves nobody for a while and is taken back. By its next try policy has changed its mind, its tries or its time
/// are used up, or nobody wants it any more.
void add_taken_back(Dice& dice, Document& scenario) {
    const int at = dice.between(5, 30);
    add_fault(scenario, {{"at", fmt::format("{}s", at)},
                         {"do", "nats.publish_errors"},
                         {"subject", "worker.*.jobs"},
                         {"outcome", "not_applied"},
                         {"for", dice.word({"15s", "30s"})}});
    for (int i = dice.between(2, 5); i > 0; --i) {
        Document job = {{"job_id", fmt::format("back-{}", i)}, {"topic", "job.default"}};
        const std::string id = job["job_id"];
        if (dice.chance(0.3)) job["budget"]["deadline_ms"] = "6000";
        add_load(scenario, {{"at", fmt::format("{}s", at + 1)}, {"job", std::move(job)}});
        if (dice.chance(0.3))
            add_load(scenario, {{"at", fmt::format("{}s", at + dice.between(3, 15))}, {"cancel", id}});
    }
    switch (dice.between(0, 3)) {
        case 0: config(scenario)["max_scheduling_retries"] = dice.between(2, 3); break;
        case 1:
            config(scenario)["reconciler_scheduled_timeout"] = "5s";
            config(scenario)["reconciler_interval"] = "3s";
            break;
        default:
            add_fault(scenario, {{"at", fmt::format("{}s", at + 3)},
                                 {"do", "kernel.decision"},
                                 {"decision", dice.word({"require_approval", "require_approval", "deny", "throttle"})},
                                 {"for", dice.word({"20s", "40s"})}});
            break;
    }
}

}  // namespace

void starved(Dice& dice, Document& scenario) {
    config(scenario)["worker_ttl"] = dice.word({"5s", "10s"});
    config(scenario)["max_scheduling_retries"] = dice.one_of(std::array{3, 5, 10, 50});
    add_load(scenario, {{"at", dice.seconds(5, 20)}, {"count", dice.on_every_scale(40)}});
    add_fault(scenario, {{"at", "1s"},
                         {"do", dice.word({"crash", "worker.silence", "worker.overload"})},
                         {"target", "workers"},
                         {"for", dice.word({"20s", "60s", "4m"})}});
}

void flapping_workers(Dice& dice, Document& scenario) {
    config(scenario)["worker_ttl"] = dice.word({"5s", "10s", "15s"});
    for (int i = dice.between(3, 8); i > 0; --i)
        add_fault(scenario,
                  {{"at", dice.seconds(2, 120)},
                   {"do", dice.word({"crash", "pause", "worker.silence", "worker.zombie", "worker.overload"})},
                   {"target", dice.word({"w-0", "w-0", "workers"})},
                   {"for", dice.word({"3s", "12s", "40s"})}});
    Document faults = Document::array();
    add_preemption_at(dice, {{"event", "redis"}, {"script", "commit"}}, 40, faults);
    for (Document& fault : faults) add_fault(scenario, std::move(fault));
    if (dice.chance(0.5)) add_loss_while_away(dice, scenario);
    if (dice.chance(0.6)) add_taken_back(dice, scenario);
}

}  // namespace lockstep::sim
