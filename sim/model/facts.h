// What happened, as rules see it. The facts of one command or script are delivered together, after it, in their order: each says what
// was before it and after it, while the model already is as the whole command left it.
//
// A new fact is a struct here, an entry of the list below, and the place in the model that makes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "sim/model/job.h"

namespace lockstep::sim {

struct Observed {
    EventNumber event = 0;  // that it belongs to
    Time at{};
    fakes::NodeId node;        // who caused it; invalid: the clock or a fault
    const Job* job = nullptr;  // null: it is about no job
};

/// The field `state` of the hash of a job was written, maybe with the same value.
struct StateChanged : Observed {
    State from{};     // hash or state key
    State in_hash{};  // hash alone: a writer that reads nothing else goes on from this
    State to{};
    Dispatch dispatch;  // before it, and so the rest
    End end;
    EventNumber last_change = 0;       // of the field
    EventNumber tenant_activated = 0;  // when a job of its tenant took a slot last
};

enum class RecordField : std::uint8_t { result_ptr, worker_id, failure_reason };
inline constexpr std::string_view kRecordFieldNames[] = {"result_ptr", "worker_id", "failure_reason"};

/// A field of the hash of a job was written.
struct RecordWritten : Observed {
    RecordField field{};
    std::string before, after;
    bool is_new = false;      // it was not there before
    WorkerNumber worker = 0;  // named by `after`, where the field is worker_id
    State state{};            // when it was written, and so the next two
    Dispatch dispatch;
    End end;
};

/// A replica asked for the state of a job and got no reply that has it.
struct StateUnread : Observed {};

/// A replica has the reply to the commit that names a worker for a job.
struct DispatchCommitted : Observed {};

/// A dispatch leaves its replica for a worker.
struct Sent : Observed {
    WorkerNumber worker = 0;
    EventNumber state_unread = 0;  // since when the replica could not read the state; 0: it could
    bool is_commits = false;       // the publish that belongs to a commit; else one more of the same dispatch
    Time committed_at{};           // when the replica had the reply to that commit
};

/// A heartbeat came that is out of bounds, and is no sign of life.
struct HeartbeatOutOfBounds : Observed {};

using Fact = std::variant<StateChanged, RecordWritten, StateUnread, DispatchCommitted, Sent, HeartbeatOutOfBounds>;

}  // namespace lockstep::sim
