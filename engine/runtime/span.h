// Spans that come from outside: settings, command lines, messages, what is stored. Ten years are the longest, so that no sum of a few
// spans and an instant of this century leaves 64 bits of nanoseconds.
#pragma once

#include <chrono>

#include "engine/runtime/time.h"

namespace lockstep::engine {

/// The longest span that a setting may have, and what a longer one in a message or in the store counts as.
inline constexpr Duration kSpanMax = std::chrono::hours(24 * 3650);

/// The span as nanoseconds, and never more than ten years of either sign.
template <class Rep, class Period>
[[nodiscard]] constexpr Duration bounded(std::chrono::duration<Rep, Period> span) {
    constexpr auto kMost = std::chrono::duration_cast<std::chrono::duration<Rep, Period>>(kSpanMax);
    if (span >= kMost) return kSpanMax;
    return span <= -kMost ? -kSpanMax : std::chrono::duration_cast<Duration>(span);
}

}  // namespace lockstep::engine
