// A recorded run as the timeline that the page shows: which lanes, which bars, and, of a run that is too large for a page, which
// events.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/timeline.h"
#include "sim/explain/causality.h"
#include "sim/run/result.h"

namespace lockstep::sim {

/// What is kept when `events_max` is exceeded, in this order: crashes, pauses and faults; what led to the violation, and its
/// job; what came last before it, or else at the end; then whole jobs, evenly chosen. The timeline's notes say so.
[[nodiscard]] reports::Timeline timeline_of(const RunResult& result, const Causality& causality,
                                            std::size_t events_max);

/// The page of a recorded run, below `bytes_max`. REQUIRES: `result.history`.
[[nodiscard]] std::string run_page(const RunResult& result, std::vector<std::string> verdict, std::string replay,
                                   std::size_t bytes_max = 5'000'000);

}  // namespace lockstep::sim
