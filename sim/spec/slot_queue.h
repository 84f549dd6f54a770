// How the queue of a tenant with a limit moves, and for how long a slot may stay free while a job waits for it
// (engine/delivery-semantics.md, "Jobs of a tenant with a limit", and "Jobs that wait for capacity", 3 and 4).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "engine/config/tunables.h"
#include "sim/model/capacity_queues.h"
#include "sim/model/job.h"
#include "sim/spec/routing.h"

namespace lockstep::sim::spec {

/// How long a slot is reserved for a job that was woken.
inline constexpr engine::Duration kReserved = std::chrono::seconds{10};
/// A script reads the clock a little after it has begun.
inline constexpr engine::Duration kWithinAScript = std::chrono::milliseconds{100};
/// A call looks at no more jobs of a queue.
inline constexpr std::size_t kLookedAtOnce = 16;

/// It waits for a slot, by its hash and its state.
[[nodiscard]] bool is_queued(const Job& job);
/// How many jobs there may be where this one is among them; 0: any number.
[[nodiscard]] std::int64_t limit_of(const TenantQueue& queue, const Job& job);
/// How long ago it was woken, in milliseconds.
[[nodiscard]] double woken_for(double woken, const QueueStep& step);
/// Its slot is reserved no longer, whenever the script has read the clock.
[[nodiscard]] bool is_reserve_over(double woken, const QueueStep& step);
/// The job that is left queued by a command that has freed a slot, though the slot was to be handed on to it. Null: none.
[[nodiscard]] const Job* left_out(const TenantQueue& queue, const QueueStep& step);
/// The job that is left queued, and came before this one, which the command has woken. Null: none.
[[nodiscard]] const Job* passed_over(const TenantQueue& queue, const QueueStep& step, const Job& woken);
/// A command has queued a job behind jobs that have come later.
[[nodiscard]] bool has_lost_its_place(const TenantQueue& queue, const QueueStep& step, const Job& job);

/// A command has queued a job before others, though it was woken and could not be acquired in time.
[[nodiscard]] bool has_kept_its_place(const TenantQueue& queue, const QueueStep& step, const Job& job);

/// The jobs of a queue that a command has woken, and how many jobs the widest of their limits allows.
struct Woken {
    int jobs = 0;
    std::int64_t allowed = 0;  // 0: any number
    const Job* last = nullptr;
};
[[nodiscard]] Woken woken_by(const QueueStep& step, const Tenant& tenant);

/// After what time without a move a tick wakes a job of the queue.
[[nodiscard]] engine::Duration until_a_tick_wakes(const engine::Tunables& tunables);

/// A slot of a tenant: for the way of a wake-up, beside its calls. Half of the shortest pause after which a replica tries again by itself.
inline constexpr engine::Duration kUntilWoken = std::chrono::seconds{1};
/// A slot of a worker that no call has reported is found by a tick, and some are shown only by a heartbeat.
inline constexpr engine::Duration kUntilAWorkerIsUsed = std::chrono::seconds{12};
/// The answer to the replica that freed the slot, the look at the stored request, and the script that acquires the job.
inline constexpr int kCallsOfAWakeUp = 3;

/// The same after a disturbance, where a wake-up may be lost with its replica, and the lock of the job may have to expire. A tick lock
/// lives for two intervals; then comes the tick of the replica that gets it next.
[[nodiscard]] inline engine::Duration until_used_after_trouble(const engine::Tunables& tunables) {
    constexpr engine::Duration kSpare = std::chrono::seconds{30};
    return kReserved + tunables.job_lock_ttl + tunables.pending_age + 3 * tunables.replayer_interval +
           3 * tunables.reconciler_interval + kSpare;
}

[[nodiscard]] inline bool has_free_slot(const Capacity::Worker& worker, const engine::Tunables& tunables) {
    const bool is_busy = worker.cpu >= static_cast<float>(tunables.overload_cpu) ||
                         worker.gpu >= static_cast<float>(tunables.overload_gpu);
    return !is_busy && static_cast<double>(worker.listed + worker.others) <
                           static_cast<double>(worker.jobs_max) * tunables.overload_utilization;
}

[[nodiscard]] inline bool may_serve(const Capacity::Worker& worker, const Capacity::Queue& queue) {
    return queue.pools.contains(worker.pool) && carries(worker.labels, queue.labels);
}

}  // namespace lockstep::sim::spec
