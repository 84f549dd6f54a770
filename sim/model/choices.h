// Which worker a replica chooses for a job, and what it may have gone by. Part of the model of one job.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

/// A handler that may choose a worker for the job: it has the lock, or policy answered it.
struct Choosing {
    fakes::NodeId replica;
    Since since;  // it chooses a worker after that: it took the lock, policy answered it, or it took its choice back
    std::size_t token = 0;  // of its lock, a digest; 0: unknown
    bool is_held = false;   // it is a scheduler's and holds the lock
    EventNumber begun = 0;
    EventNumber called = 0;     // its last call about the job: a choice that takes effect was made before that
    bool is_undecided = false;  // it may choose, and has not
    int choices = 0;
    std::vector<std::pair<WorkerNumber, EventNumber>> taken_back;  // the last choice of each
    WorkerNumber kept_free = 0;  // this worker kept a slot free for the job when the lock was taken
    WorkerNumber refused = 0;    // the store has refused it this worker, last
};

/// What a replica may have gone by when it chose a worker, or found none.
struct Choice {
    EventNumber from = 0, to = 0;  // it chose between these events
    Time from_at{};
    EventNumber acquired = 0;  // when its handler took the lock of the job, and read its request
    EventNumber made = 0;      // the last event before the command that says so
    std::vector<EventNumber>
        undecided;  // since when other handlers of it may have chosen: those choices may count already
};

}  // namespace lockstep::sim
