// What the model knows of a process that reads heartbeats or writes the worker snapshot.
#pragma once

#include <optional>
#include <vector>

#include "sim/model/job.h"
#include "sim/model/replica_traffic.h"
#include "sim/model/weather.h"

namespace lockstep::sim {

/// What a snapshot of this process may say.
struct SnapshotWriter {
    std::vector<Liveness> workers;  // that it knows of, by number
    Since locked;                   // when it last took the writer's lock; event 0: not since its start
};

/// The beginning of a node's life.
struct ReplicaStart {
    Since since;                  // event 0: it has none that is known
    bool is_disturbed = false;    // a call to Redis failed since, or a connection broke
    int jobs_taken = 0;           // since, locks of jobs and dispatches
    bool reads_snapshot = true;   // it may still try to
    EventNumber look_failed = 0;  // its latest try to read the snapshot that failed; 0: none did
};

/// A node that serves was asked to stop.
struct StopAsked {
    Time at{};
    bool is_disturbed = false;  // then, or since
};

struct Replica {
    SnapshotWriter now;
    SnapshotWriter before;  // as it was when it last went down after it had taken the lock
    /// The snapshot that a GET of this process has found and not returned yet was written then; nothing inside: unknown.
    std::optional<std::optional<Time>> found;

    /// A scheduler that has started reaches Redis from its first call that is answered until a call fails, a connection breaks, it is
    /// paused or it goes down. It has started when it first asks for a lock of the schedulers' periodic loops.
    Since reached;  // event 0: it does not
    bool ticks = false;
    bool has_read_settings = false;  // since it came up
    EventNumber owes_limits = 0;  // it found limits of another file in the settings, and has not written its own; 0: no
    bool is_paused = false;
    EventNumber frozen = 0;  // last; 0: not since it came up
    ReplicaStart start;
    bool serves = false;  // it has announced itself since it came up
    std::optional<StopAsked> stop;
    Time redis_unanswered = kBeforeAll;  // when Redis last gave it no reply
    std::vector<const Job*> handled;     // which have a Choosing of it that is held
    ReplicaTraffic traffic;
    std::vector<Time> full;  // by worker: when the store last refused it, or it heard so

    /// A process that has not taken the lock since its start has not written either: a write that takes effect is of its life before.
    [[nodiscard]] const SnapshotWriter& writer() const {
        return now.locked.event == 0 && before.locked.event != 0 ? before : now;
    }
};

}  // namespace lockstep::sim
