// What has a beginning and an end at a node: locks, messages in hand, faults, and the times at which it was down or paused.
#pragma once

#include <cstdint>
#include <vector>

#include "reports/timeline.h"
#include "sim/explain/history.h"

namespace lockstep::sim {

/// Adds the bars of the whole run, in the order in which they begin. `lanes`: of each node; `now_us`: the end of what is still
/// open.
void add_node_bars(const History& history, const std::vector<std::uint32_t>& lanes, std::int64_t now_us, Texts& texts,
                   reports::Timeline& out);

}  // namespace lockstep::sim
