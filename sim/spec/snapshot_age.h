// How old the worker snapshot may be (redis-schema.md 6).
#pragma once

#include <algorithm>
#include <chrono>

#include "engine/config/tunables.h"
#include "sim/model/stored_snapshot.h"

namespace lockstep::sim::spec {

/// With the documented values 20 s, which have room for one writer that dies with the lock, and one operation. Each further lock that was
/// lost since the last write is allowed for as long as it kept the others from writing.
[[nodiscard]] inline engine::Duration snapshot_age_max(int locks_lost, const engine::Tunables& tunables) {
    const engine::Duration held_up = tunables.snapshot_lock_ttl + tunables.snapshot_interval;
    const engine::Duration oldest =
        std::max<engine::Duration>(std::chrono::seconds{20}, held_up + tunables.snapshot_interval);
    return oldest + tunables.store_op_timeout + kCapturedAtPrecision + std::max(locks_lost - 1, 0) * held_up;
}

/// A holder that has not written within the time of one operation will not: it did not receive its answer, or could not write.
[[nodiscard]] inline bool is_lock_being_lost(const StoredSnapshot& snapshot, Time now,
                                             const engine::Tunables& tunables) {
    return snapshot.locked.event != 0 && now - snapshot.locked.at > tunables.store_op_timeout;
}

[[nodiscard]] inline int locks_lost(const StoredSnapshot& snapshot, Time now, const engine::Tunables& tunables) {
    return snapshot.locks_lost + (is_lock_being_lost(snapshot, now, tunables) ? 1 : 0);
}

/// By the clock of Redis, which the expiry of the key shows; 0 where that or `captured_at` is unknown.
[[nodiscard]] inline engine::Duration age_when_written(const StoredSnapshot& snapshot,
                                                       const engine::Tunables& tunables) {
    if (!snapshot.text.captured_at || !snapshot.expires_at) return {};
    return *snapshot.expires_at - tunables.data_ttl - *snapshot.text.captured_at;
}

/// When it was captured; of one that was lost, or that no replica wrote: when that happened.
[[nodiscard]] inline Time captured(const StoredSnapshot& snapshot, const engine::Tunables& tunables) {
    return snapshot.changed.at - std::max(age_when_written(snapshot, tunables), engine::Duration{});
}

}  // namespace lockstep::sim::spec
