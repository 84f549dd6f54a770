// Where in virtual time a page begins, and which gaps it folds: times in which nothing happens that a reader would look for. Heartbeats,
// snapshots of workers and empty sweeps go on all the time, and do not count.
#pragma once

#include <cstdint>
#include <vector>

#include "reports/timeline.h"
#include "sim/explain/history.h"

namespace lockstep::sim {

/// When something happens that concerns a job, a node or a fault; noise (noise.h) apart. Ascending, in microseconds.
[[nodiscard]] std::vector<std::int64_t> moments_of(const History& history, const std::vector<bool>& noise);

/// The longest gaps between the moments and up to the end, in the order of time.
[[nodiscard]] std::vector<reports::Timeline::Fold> idle_gaps(const std::vector<std::int64_t>& moments,
                                                             std::int64_t end_us);

/// Sets the window that the page opens on: the violation with what it contradicts, or else the minute in which most happens.
void choose_opening(const std::vector<std::int64_t>& moments, reports::Timeline& timeline);

}  // namespace lockstep::sim
