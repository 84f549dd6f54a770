// How long the steps of a dispatch may take (engine/delivery-semantics.md, "To a submitter", 3, and "How a job can still run twice, or end
// unsent").
#pragma once

#include <algorithm>
#include <chrono>

#include "engine/config/tunables.h"
#include "sim/spec/calling_off.h"
#include "sim/spec/retry_delays.h"

namespace lockstep::sim::spec {

/// From DISPATCHED to RUNNING: one publish, and the two calls of the store that record the two.
[[nodiscard]] inline engine::Duration until_running(const engine::Tunables& tunables) {
    return tunables.publish_timeout + 2 * tunables.store_op_timeout + kBesideTheCall;
}

/// The same, for a dispatch that is looked for in the stream.
[[nodiscard]] inline engine::Duration until_found(const engine::Tunables& tunables) {
    return tunables.publish_resend_limit + until_running(tunables) + kBesideTheCall;
}

/// Between two tries of a job that waits; some of it for messages on their way and handlers that are at other jobs.
[[nodiscard]] inline engine::Duration between_tries(const engine::Tunables& tunables) {
    constexpr engine::Duration kSlack = std::chrono::seconds{30};
    return kSlack + std::max({tunables.backoff_max + tunables.backoff_jitter, tunables.safety_throttle_delay,
                              tunables.safety_unavailable_delay, tunables.retry_delay_no_workers,
                              tunables.retry_delay_publish, tunables.retry_delay_store, kDelayWithoutInput});
}

/// Between two tries of a job also where its message was lost: the replayer looks for such jobs.
[[nodiscard]] inline engine::Duration between_tries_at_most(const engine::Tunables& tunables) {
    constexpr engine::Duration kSpare = std::chrono::seconds{30};
    return std::max(between_tries(tunables), tunables.pending_age + 2 * tunables.replayer_interval + kSpare);
}

}  // namespace lockstep::sim::spec
