// The clocks of one node as functions of virtual time: a monotonic one that runs a little fast or slow, and a wall clock
// on top of it that is offset and can jump. Integers throughout.
#pragma once

#include <cstdint>

#include "engine/runtime/time.h"
#include "sim/world/virtual_time.h"

namespace lockstep::sim {

using engine::Duration;
using engine::MonoTime;
using engine::WallTime;

/// Parts per billion: how much faster than virtual time a clock runs.
struct Drift {
    std::int64_t ppb = 0;
    /// Rounded to the nearest, and kept within half and one and a half times the true rate.
    [[nodiscard]] static Drift from_ppm(double ppm);
    friend bool operator==(const Drift&, const Drift&) = default;
};

class LocalClock {
public:
    LocalClock(Duration offset, Drift drift) : offset_(offset), drift_(drift) {}

    [[nodiscard]] MonoTime monotonic(Time now) const { return base_mono_ + stretched(now - base_virtual_); }
    [[nodiscard]] WallTime wall(Time now) const {
        return WallTime{monotonic(now) - kMonotonicAtStart + kWallAtStart.time_since_epoch() + offset_};
    }
    /// The first instant, not before `now`, at which `monotonic` shows `local` or more.
    [[nodiscard]] Time when(MonoTime local, Time now) const;

    /// Moves the wall clock; waits are not affected.
    void jump(Duration by) { offset_ += by; }
    /// Changes the rate from `now` on. What was computed with `when` must be computed again.
    void set_drift(Drift drift, Time now);
    [[nodiscard]] Drift drift() const { return drift_; }

private:
    /// A machine has been up for a while when the run begins: zero would hide code that takes zero for "never".
    static constexpr MonoTime kMonotonicAtStart{std::chrono::hours{24}};

    [[nodiscard]] Duration stretched(Duration elapsed) const;

    Time base_virtual_{};
    MonoTime base_mono_ = kMonotonicAtStart;
    Duration offset_;
    Drift drift_;
};

}  // namespace lockstep::sim
