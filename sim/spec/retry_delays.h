// The delay after a try that came to nothing (wire.md 8).
#pragma once

#include <algorithm>
#include <chrono>

#include "engine/config/tunables.h"

namespace lockstep::sim::spec {

/// Of the try of this number, from 0: min(base * 2^n, max).
[[nodiscard]] inline engine::Duration delay_without_jitter(std::int64_t number, const engine::Tunables& tunables) {
    engine::Duration grown = tunables.backoff_base;
    for (std::int64_t i = 0; i < number && grown > engine::Duration{0} && grown < tunables.backoff_max; ++i) grown *= 2;
    return std::min(grown, tunables.backoff_max);
}

/// The jitter is added, and taken off where the delay could not grow any more.
[[nodiscard]] inline engine::Duration shortest_delay(std::int64_t number, const engine::Tunables& tunables) {
    const engine::Duration grown = delay_without_jitter(number, tunables);
    return grown < tunables.backoff_max ? grown : std::max(grown - tunables.backoff_jitter, engine::Duration{0});
}

[[nodiscard]] inline engine::Duration longest_delay(std::int64_t number, const engine::Tunables& tunables) {
    return std::min(delay_without_jitter(number, tunables) + tunables.backoff_jitter, tunables.backoff_max);
}

/// A job whose input is not found is tried again after a fixed time (engine/delivery-semantics.md, "Whose word counts").
inline constexpr engine::Duration kDelayWithoutInput = std::chrono::seconds{5};
/// The same for a job that policy takes too long for, and for no other ("While policy does not answer"): the first time, and the second.
inline constexpr engine::Duration kDelayOfSlowJob = std::chrono::seconds{5};
inline constexpr engine::Duration kSecondDelayOfSlowJob = std::chrono::seconds{30};
/// A message that could not be marked as processed is requeued instead of being acknowledged (C-11).
inline constexpr engine::Duration kDelayOfUnmarked = std::chrono::seconds{2};

[[nodiscard]] inline engine::Duration longest_of_all_delays(const engine::Tunables& tunables) {
    return std::max({tunables.backoff_max, tunables.safety_throttle_delay, tunables.safety_unavailable_delay,
                     tunables.retry_delay_no_workers, tunables.retry_delay_publish, tunables.retry_delay_store,
                     tunables.retry_delay_busy, kDelayWithoutInput, kDelayOfSlowJob, kSecondDelayOfSlowJob});
}

}  // namespace lockstep::sim::spec
