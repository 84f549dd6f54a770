// The clock of the simulation itself, which no node can read. Nodes see it through their own offset, drift and jumps.
#pragma once

#include "engine/runtime/time.h"

namespace lockstep::sim {

/// Tag of virtual time: nanoseconds since the start of the run.
struct VirtualClock {
    using rep = std::int64_t;
    using period = std::nano;
    using duration = engine::Duration;
    using time_point = std::chrono::time_point<VirtualClock, engine::Duration>;
    static constexpr bool is_steady = true;
};

using Time = VirtualClock::time_point;

/// What a perfect wall clock shows when the run begins: 2026-01-01T00:00:00Z.
inline constexpr engine::WallTime kWallAtStart{std::chrono::seconds{1'767'225'600}};

[[nodiscard]] constexpr engine::WallTime perfect_wall(Time now) { return kWallAtStart + now.time_since_epoch(); }

}  // namespace lockstep::sim
