// Draws a fault schedule from a seed: what the `chaos` of a scenario file stands for. The schedule consists of ordinary
// faults, so that it can be printed, replayed and shrunk as a scenario file.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

/// The faults of this seed, by begin. The level sets how many there are and how long they last. REQUIRES: `scenario.chaos`.
///
/// 1. Every fault begins and ends before `heal_at`, except as `heal` says: with `core`, one scheduler and half of each
///    worker group are never touched and node faults elsewhere stay; with `stay_down`, crashed nodes stay crashed, but one
///    scheduler and half of each worker group are spared.
/// 2. So do those before each stretch that is to be fault-free.
/// 3. Faults that destroy acknowledged data are drawn only when `data_loss` asks for them.
/// 4. The same arguments give the same schedule on every machine.
[[nodiscard]] std::vector<Fault> draw_chaos(const Scenario& scenario, const Topology& topology, std::uint64_t seed);

}  // namespace lockstep::sim
