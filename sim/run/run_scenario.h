// The one entry to a simulated run: builds the world that a scenario describes, lets it run until all is quiet or its
// time is over, and judges what happened.
#pragma once

#include <cstdint>
#include <string>

#include "sim/run/result.h"

namespace lockstep::sim {

/// Same scenario and seed, same result, on every machine (wall_ms apart). One thread, no global state: several may run at
/// once in different threads. Does not throw; what breaks in the harness is in `RunResult::error`.
[[nodiscard]] RunResult run_scenario(const Scenario& scenario, std::uint64_t seed, const RunOptions& options);

/// The result of a run that never came to one: `what` broke in the harness.
[[nodiscard]] RunResult broken_run(const Scenario& scenario, std::uint64_t seed, std::string what);

}  // namespace lockstep::sim
