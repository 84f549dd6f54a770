// The least and the most that a tunable may be; `set_tunable` refuses the rest. The least is positive where zero would be a loop without a pause, a deadline
// that is always over, a time to live that Redis, which counts in milliseconds, refuses, or a scheduler that handles nothing.
#pragma once

#include <cstdint>

#include "engine/config/tunables.h"

namespace lockstep::engine {

/// Zero for every tunable that may be zero, and for those that are no durations.
[[nodiscard]] Duration minimum_of(const TunableInfo& info);

/// Zero for every tunable that may be zero, and for those that are no whole numbers.
[[nodiscard]] std::int64_t least_count_of(const TunableInfo& info);

/// The most of a whole number: a billion, which fits into 32 bits wherever it is handed on, or of bytes and bits 10^12.
[[nodiscard]] std::int64_t most_count_of(const TunableInfo& info);

/// The most of a number with a fraction.
inline constexpr double kNumberMax = 1e6;

}  // namespace lockstep::engine
