// One scenario on real servers, in real time, judged by the rules of the simulator.
//
// Why frozen programs when a server comes back: what a program says to it before somebody listens would be missing in the
// recording, and the mirror of the keyspace would drift from the original.
#pragma once

#include <filesystem>

#include "sim/run/result.h"

namespace lockstep::prod::rehearsal {

/// REQUIRES: `scenario` is what `feasible` left of one; the calling thread does nothing else meanwhile. `programs` is the
/// folder of lockstepd and its kin. Does not throw; what breaks in the harness is in `RunResult::error`. A mirror that
/// differs from the keyspace at the end is such a break: what was judged by it counts for nothing.
[[nodiscard]] sim::RunResult rehearse(const sim::Scenario& scenario, std::uint64_t seed, const sim::RunOptions& options,
                                      const std::filesystem::path& programs);

}  // namespace lockstep::prod::rehearsal
