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
}

}  // namespace lockstep::sim
