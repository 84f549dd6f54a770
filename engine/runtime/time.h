// Time as integers. Two clocks that must never be mixed are two types: wall time names instants for people and
// for Redis; monotonic time measures waits. Both count nanoseconds. Nothing here reads a clock: see ports/clock.h.
#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep::engine {

using Duration = std::chrono::nanoseconds;

/// Tag of the wall clock: nanoseconds since the Unix epoch; may be skewed, drift or jump.
struct WallClock {
    using rep = std::int64_t;
    using period = std::nano;
    using duration = Duration;
    using time_point = std::chrono::time_point<WallClock, Duration>;
    static constexpr bool is_steady = false;
};

/// Tag of a node's monotonic clock: nanoseconds since an arbitrary start; never goes back.
struct MonoClock {
    using rep = std::int64_t;
    using period = std::nano;
    using duration = Duration;
    using time_point = std::chrono::time_point<MonoClock, Duration>;
    static constexpr bool is_steady = true;
};

using WallTime = WallClock::time_point;
using MonoTime = MonoClock::time_point;

/// Microseconds since the Unix epoch, the unit of every job key in Redis (redis-schema.md, conventions).
[[nodiscard]] constexpr std::int64_t to_unix_micros(WallTime t) {
    return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
}

[[nodiscard]] constexpr std::int64_t to_millis(Duration d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

}  // namespace lockstep::engine
