// How soon a worker is told to leave off, and a job is cancelled.
#pragma once

#include <chrono>
#include <cstddef>

#include "engine/config/tunables.h"

namespace lockstep::sim::spec {

/// Beside the call itself.
inline constexpr engine::Duration kBesideTheCall = std::chrono::seconds{1};

/// From the end of a job, or from when its dispatch has arrived and its sender knows that it is stored, until its worker is told
/// (engine/delivery-semantics.md, "To a worker", 4): by the call of the store that tells so. One that fails is a disturbance.
[[nodiscard]] inline engine::Duration until_called_off(const engine::Tunables& tunables) {
    return tunables.store_op_timeout + kBesideTheCall;
}

/// From when a replica hears that a job is to be cancelled, with so many such words in hand: it works off 32 at a time
/// (engine/delivery-semantics.md, "Many messages about one job, and many cancellations").
[[nodiscard]] inline engine::Duration until_cancelled(std::size_t in_hand, const engine::Tunables& tunables) {
    constexpr std::size_t kTogether = 32;
    return static_cast<std::int64_t>(1 + in_hand / kTogether) * tunables.store_op_timeout + kBesideTheCall;
}

}  // namespace lockstep::sim::spec
