// The real clock: CLOCK_REALTIME for instants, CLOCK_MONOTONIC for waits.
#pragma once

#include "engine/ports/clock.h"

namespace lockstep::prod {

[[nodiscard]] engine::MonoTime monotonic_now();
[[nodiscard]] engine::WallTime wall_now();

class SystemClock final : public engine::Clock {
public:
    [[nodiscard]] engine::WallTime now() const override { return wall_now(); }
    [[nodiscard]] engine::MonoTime monotonic() const override { return monotonic_now(); }
};

}  // namespace lockstep::prod
