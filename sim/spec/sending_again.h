// When a dispatch may be sent once more.
#pragma once

#include <chrono>

#include "engine/config/tunables.h"
#include "sim/model/job.h"

namespace lockstep::sim::spec {

/// A message of whose fate its sender was not told is sent again only after two looks at the stream that lie `publish_settle` apart,
/// and on another connection than the one that has carried it (wire.md 8.4). The looks cannot be seen from outside, and the least
/// time that they take can: a connection that has ended is made again after two seconds (wire.md 1). Of a time that a replica
/// measures, an eighth is forgiven, for a clock that goes too fast.
[[nodiscard]] inline engine::Duration least_wait_before(const Sendings::Unanswered& before,
                                                        const engine::Tunables& tunables) {
    constexpr engine::Duration kReconnectWait = std::chrono::seconds{2};
    const auto surely_passed = [](engine::Duration time) { return time - time / 8; };
    const bool cut_off = !before.refused && before.waited < surely_passed(tunables.publish_timeout);
    return surely_passed(tunables.publish_settle + (cut_off ? kReconnectWait : engine::Duration{}));
}

/// Of a job of which Redis has lost something, no replica may know any more that it was sent. With `redis_replicas` above zero a
/// failover loses nothing of what replicas were required to have (engine/delivery-semantics.md, "What holds even then").
[[nodiscard]] inline bool may_be_forgotten(const Job& job, const engine::Tunables& tunables) {
    return tunables.redis_replicas > 0 ? job.lost.by_restart || job.lost.of_single_keys : job.lost.any();
}

}  // namespace lockstep::sim::spec
