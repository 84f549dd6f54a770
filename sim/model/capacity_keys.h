// Keys of jobs that wait for a worker with a free slot (engine/delivery-semantics.md, "Jobs that wait for capacity").
#pragma once

#include <string_view>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

/// All jobs that wait, by since when.
inline constexpr std::string_view kCapacityWaiting = "lockstep:capacity:waiting";
/// Those of them that are being tried, by when they were woken.
inline constexpr std::string_view kCapacityWoken = "lockstep:capacity:woken";
/// Those of a tenant, likewise: its name follows.
inline constexpr std::string_view kCapacityWaitingOf = "lockstep:capacity:of:";
/// The jobs of one tenant in one queue: the name of the queue and that of the tenant follow.
inline constexpr std::string_view kCapacityQueue = "lockstep:capacity:jobs:";
/// A queue's tenants, by when each was served last.
inline constexpr std::string_view kCapacityTurns = "lockstep:capacity:turns:";
/// Whether others wait in a queue is read of these.
[[nodiscard]] constexpr bool is_place_in_order(std::string_view key) {
    return key.starts_with(kCapacityQueue) || key.starts_with(kCapacityTurns);
}
/// The jobs that a worker has in flight, or that a slot is kept free for.
inline constexpr std::string_view kWorkerSlots = "lockstep:capacity:slots:";
inline constexpr std::string_view kCapacityTick = "lockstep:capacity:tick";

/// Where jobs stand that wait, or that have been woken.
[[nodiscard]] constexpr bool is_place_for_capacity(std::string_view key) {
    return key == kCapacityWaiting || key == kCapacityWoken;
}
/// The same, and where they hold a slot of their tenant or wait for one.
[[nodiscard]] constexpr bool is_place_in_queue(std::string_view key) {
    return key.starts_with("lockstep:tenant:") || is_place_for_capacity(key);
}
/// Whether the jobs that are listed there wait until they are woken, for a slot of their tenant or of a worker.
[[nodiscard]] constexpr bool is_line(std::string_view key) {
    return key.starts_with("lockstep:tenant:waiting:") || key == kCapacityWaiting;
}

}  // namespace lockstep::sim
