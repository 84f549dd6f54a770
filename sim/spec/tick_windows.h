// For how long a tick lock keeps other replicas from ticking (redis-schema.md 5).
#pragma once

#include <chrono>

#include "engine/config/tunables.h"
#include "sim/model/tick_locks.h"

namespace lockstep::sim::spec {

/// Two intervals from the moment at which the lock was last granted, however long it was asked for, and whether it is still held.
[[nodiscard]] inline engine::Duration window_of(TickLock::Kind kind, const engine::Tunables& tunables) {
    switch (kind) {
        case TickLock::Kind::reconciler: return 2 * tunables.reconciler_interval;
        case TickLock::Kind::replayer: return 2 * tunables.replayer_interval;
        case TickLock::Kind::delay_poller: return 2 * tunables.delay_poller_interval;
        case TickLock::Kind::run_reconciler: break;
    }
    return 2 * tunables.wf_scan_interval;
}

/// A ticker extends its lock, or stops, when this much of the window is over.
[[nodiscard]] constexpr engine::Duration third_of(engine::Duration window) { return window / 3; }

/// What clocks that go at slightly different speeds, and expiry in whole milliseconds, may add to a window or take off it.
[[nodiscard]] constexpr engine::Duration tolerance(engine::Duration window) {
    return window / 64 + std::chrono::milliseconds{100};
}

}  // namespace lockstep::sim::spec
