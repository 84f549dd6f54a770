// The least that a tunable may be; `set_tunable` refuses less. Positive where zero would be a loop without a pause, a deadline
// that is always over, a time to live that Redis, which counts in milliseconds, refuses, or a scheduler that handles nothing.
#pragma once

#include <cstdint>

#include "engine/config/tunables.h"

namespace lockstep::engine {

/// Zero for every tunable that may be zero, and for those that are no durations.
[[nodiscard]] Duration minimum_of(const TunableInfo& info);

/// Zero for every tunable that may be zero, and for those that are no whole numbers.
[[nodiscard]] std::int64_t least_count_of(const TunableInfo& info);

}  // namespace lockstep::engine
