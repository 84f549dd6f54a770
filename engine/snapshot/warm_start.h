// The warm start: a scheduler that starts learns from the last snapshot which workers there are, instead of putting jobs off
// until it has heard them (redis-schema.md 6).
//
// 1. Before anything is subscribed to: the first job finds the workers (C-32), and no live heartbeat is overwritten (H-24).
// 2. Never longer than `snapshot_read_timeout`. No answer, no snapshot, one that is corrupt or older than `worker_ttl`: that is
//    told in the log, and the scheduler starts cold.
// 3. A worker that died before the snapshot was taken, or since, must not look alive for a whole time to live (H-52). The
//    snapshot's age counts, by the clock of Redis on both sides; and until a worker has been heard, it is taken for alive for
//    no longer than `hydrated_worker_ttl`: half the time to live, three heartbeats of the usual 5 s. The reference takes it
//    for just seen; `hydrated_worker_ttl` = `worker_ttl` is nearest to that.
#pragma once

#include "engine/config/context.h"
#include "engine/routing/registry.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

/// Fills the registry as far as there is something to fill it with. REQUIRES: both outlive the call.
[[nodiscard]] Task<void> warm_start(const Context& context, Registry& registry);

}  // namespace lockstep::engine
