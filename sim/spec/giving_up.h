// When a message is given up, and what asks for a dead letter (engine/delivery-semantics.md, "Messages that cannot be handled").
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "engine/config/tunables.h"
#include "sim/model/job.h"

namespace lockstep::sim::spec {

/// The first delivery at which a message is not handled any more: five are left, or of few less than half of them.
[[nodiscard]] constexpr std::int64_t first_given_up(std::int64_t max_deliver) {
    constexpr std::int64_t kLeft = 5;
    return max_deliver - std::min(kLeft, (max_deliver - 1) / 2);
}
/// The one before may still be in flight.
[[nodiscard]] constexpr std::int64_t first_followed(std::int64_t max_deliver) {
    return first_given_up(max_deliver) - 3;
}

/// The end that a scheduler gave it asks for a dead letter.
[[nodiscard]] inline bool needs_letter(const Job& job, const engine::Tunables& tunables) {
    switch (job.bad_end.by_scheduler) {
        case State::absent: return false;
        case State::failed: return !job.reported.retryable_failure;
        case State::timeout: return tunables.reconciler_emit_dead_letter;
        default: return true;
    }
}

/// Sums are published once a minute, less what the publication of the former one may have taken.
inline constexpr engine::Duration kBetweenSums = std::chrono::seconds{50};

}  // namespace lockstep::sim::spec
