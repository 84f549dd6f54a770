// The units of measures.
#pragma once

#include "sim/world/virtual_time.h"

namespace lockstep::sim {

[[nodiscard]] constexpr double millis(engine::Duration span) { return static_cast<double>(span.count()) / 1e6; }
[[nodiscard]] constexpr double millis_since_start(Time at) { return millis(at.time_since_epoch()); }

}  // namespace lockstep::sim
