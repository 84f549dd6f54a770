// Which result of a worker counts, and which of several results ends a job (engine/delivery-semantics.md, "Whose word counts" and
// "Results that contradict each other"; D-17).
#pragma once

#include "engine/config/tunables.h"
#include "sim/model/job.h"

namespace lockstep::sim::spec {

/// A result of `worker` counts for a dispatch that names the same worker or none, or where settings accept those of any worker.
[[nodiscard]] bool is_from_its_worker(const Dispatch& dispatch, WorkerNumber worker, const engine::Tunables& tunables);

/// The same, and the job is at work: the result may end it.
[[nodiscard]] bool may_end(const Dispatch& dispatch, WorkerNumber worker, const engine::Tunables& tunables);

struct Overtaken {
    WorkerResults::Sequence earlier = 0;
    WorkerResults::Sequence later = 0;
    Since known;  // the earlier one, to be in flight
};
/// `replica` ends the job as `state`, by a result that is later in the stream than one that asks for another state, that counts, and
/// that all replicas must wait for: it was noted on the job's hash, or requeued because the lock was busy, before the lock was taken, and
/// less than an ack wait ago. `earlier` is 0: it does not.
[[nodiscard]] Overtaken overtaken(const Job& job, const Dispatch& dispatch, fakes::NodeId replica, State state,
                                  Time now, const engine::Tunables& tunables);

}  // namespace lockstep::sim::spec
