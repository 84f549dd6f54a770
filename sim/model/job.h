// What an outside observer knows of a job, a tenant and a worker. Only the model changes it; addresses are stable for a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/calling_off.h"
#include "sim/model/causes.h"
#include "sim/model/choices.h"
#include "sim/model/human_word.h"
#include "sim/model/job_letter.h"
#include "sim/model/job_limits.h"
#include "sim/model/job_lock.h"
#include "sim/model/listings.h"
#include "sim/model/loss.h"
#include "sim/model/output_scan.h"
#include "sim/model/output_word.h"
#include "sim/model/passage.h"
#include "sim/model/policy_marks.h"
#include "sim/model/policy_word.h"
#include "sim/model/record_sources.h"
#include "sim/model/results.h"
#include "sim/model/sagas.h"
#include "sim/model/sendings.h"
#include "sim/model/state.h"
#include "sim/model/state_reads.h"
#include "sim/model/stays.h"
#include "sim/model/tenant_queue.h"
#include "sim/model/tries.h"
#include "sim/model/worker_reports.h"

namespace lockstep::sim {

struct Tenant {
    std::string_view name;
    int active = 0;                  // SCHEDULED, DISPATCHED or RUNNING, without jobs that Redis has lost in part
    int waiting = 0;                 // PENDING, likewise
    EventNumber last_activated = 0;  // when a job took a slot last
    bool has_limit = false;          // policy has given one of its jobs a limit
    TenantQueue queue;

    // By the states of its jobs, also of those that Redis has lost in part.
    int taken = 0;                       // SCHEDULED, DISPATCHED or RUNNING
    int to_be_tried = 0;                 // PENDING or SCHEDULED
    Time crowded_until = kBeforeAll;     // more than a few of these, until then
    int handled = 0;                     // their locks are held, and they take no slot
    std::multiset<std::int64_t> limits;  // of those that wait for a slot and can use one
    const Job* waits = nullptr;          // one of these
    std::optional<Time> free_since;      // one of these could have taken a slot, and no job was being handled

    /// Beyond so many, some wait for the others.
    static constexpr int kFewJobs = 5;
    [[nodiscard]] bool is_crowded() const { return to_be_tried > kFewJobs; }
    [[nodiscard]] bool has_free_slot() const { return !limits.empty() && handled == 0 && taken < *limits.rbegin(); }
};

/// To which worker a job is sent out, as Redis has it.
struct Dispatch {
    WorkerNumber worker = 0;  // 0: not named
    bool out = false;         // DISPATCHED or RUNNING
    EventNumber since = 0;    // the last change of the two
};

/// A commit that names a worker, on its way to a publish.
struct Commit {
    fakes::NodeId replica;
    bool is_answered = false;
    Time answered_at{};
};

/// A call of a replica about the hash of a job, until it is answered.
struct RecordCall {
    fakes::NodeId replica;
    Time begun{};
};

/// A replica acquired the lock of the job, and has not released it: it may have run out.
struct Acquired {
    fakes::NodeId replica;
    std::size_t token = 0;  // a digest
    EventNumber event = 0;
    std::optional<Time> ran_out = std::nullopt;
};

/// The way of a submission to Redis, at any time.
struct Submission {
    struct FirstDelivery {
        std::uint64_t sequence = 0;
        EventNumber event = 0;
    };
    EventNumber acknowledged = 0;  // first
    bool recorded = false;         // Redis had the job
    bool only_stored = false;      // the stream had it, and Redis never
    bool cut_off = false;          // the same, when NATS forgot what only it knew
    bool garbled = false;          // the stream had something else under its name
    Time stored_at = kBeforeAll;   // last, in the stream
    int unsettled = 0;             // messages of it that were delivered and are not settled
    bool outlived = false;         // the record ran out after the job had ended, or while a result of it was to come
    bool is_valid = false;         // one that a replica was delivered, or another than a scheduler has stored a request
    EventNumber flawed = 0;        // first delivery of the latest that is to be dropped; 0: none is
    std::string_view flaw;         // of that one
    EventNumber looked_at = 0;     // when a replica last read or wrote something of the job
    std::vector<FirstDelivery> first_delivered;
};

/// The request that Redis has or had, once one was stored (Causes::request_stored: it has one).
struct StoredRequest {
    std::string_view tenant;       // by the tenant rule
    std::string conflict;          // how it names another one as well; empty: it does not
    std::string_view former;       // its tenant before another request took its place; empty: none did
    Time replaced{};               // when that was
    bool is_invalid = false;       // it breaks a rule of requests, or is none
    EventNumber first_stored = 0;  // since the job has a record; 0: not
    EventNumber last_stored = 0;
    fakes::NodeId stored_by;            // last
    std::vector<std::size_t> contents;  // digests of what was stored as work, the latest last

    struct Version {
        std::size_t text = 0;  // a digest
        std::shared_ptr<const cap::JobRequest> request;
    };
    std::vector<Version> versions;  // that were stored lately, the latest last

    /// Null: none was that can be read.
    [[nodiscard]] const cap::JobRequest* latest() const {
        return versions.empty() ? nullptr : versions.back().request.get();
    }
};

/// What the workflow run of a job that is a step's says of it.
struct StepJob {
    bool is_named = false;    // a document of the run has named it
    bool is_garbled = false;  // the stream has something else under the name of its submission
    std::string request;      // to be submitted: bytes of a packet; empty: none
};

/// A pointer of a success of the job.
struct GivenPointer {
    std::string pointer;
    EventNumber since = 0;  // when it was first said
};

/// The first final state, until Redis has lost it.
struct End {
    State state = State::absent;
    EventNumber event = 0;
};

struct Job {
    fakes::JobNumber number = 0;
    std::string_view name;
    Tenant* tenant = nullptr;
    EventNumber tenant_recorded = 0;  // when its record got its tenant; 0: it names none
    std::string_view topic;  // as its hash has it
    std::string_view
        renamed;  // the tenant that another than a scheduler wrote there since the lock was taken last; empty: none
    std::string_view workflow;  // that limits it: as its request names it, or its sender
    bool is_gate = false;
    /// As it was submitted; empty: it asks for more than a topic, or was submitted with different contents.
    std::optional<std::string> plain_topic;

    State in_hash = State::absent;    // the field `state` of its hash
    State in_mirror = State::absent;  // the text under its state key
    EventNumber changed = 0;          // when the field was written last
    std::vector<Acquired> acquired;   // the oldest first
    Tries tries;
    Stays stays;
    Listings listings;
    RecordSources sources;
    End end;
    Loss lost;
    bool is_torn = false;  // Redis lost its hash or an index entry of it, and kept other records

    std::int64_t tenant_limit = 0;  // that policy gave with its last answer; 0: none
    JobLimits limits;
    SlotWait slot;
    QueuedFor queued_for{};
    std::string_view capacity_queue;  // in which it waits for room at a worker, as its hash says; empty: in none
    Time tried = kBeforeAll;          // last, or since when it has waited, or when it left its queue
    bool request_damaged = false;     // Redis has its request cut off, or lost it: no replica can acquire the job
    JobLock lock;
    Dispatch dispatch;
    std::vector<Commit> commits;
    std::vector<Choosing> choosing;        // one of each replica at most
    WorkerNumber kept_free = 0;            // this worker keeps a slot free for it, as its hash says; 0: none
    std::vector<RecordCall> record_calls;  // the first of each replica
    Sendings sendings;
    WorkerResults results;
    Reported reported;
    Causes causes;
    Handling handling;
    Passage passage;
    DeadLetter letter;
    BadEnd bad_end;
    StateReads reads;
    PolicyWord policy;
    HumanWord human;
    PolicyMarks marks;
    OutputWord output;
    OutputScans scans;
    Submission submission;
    StoredRequest request;
    std::vector<GivenPointer> given;  // as they were sent and as they arrived, in the order of their texts
    CallingOff calling_off;
    int occasions = 0;            // to ask policy: deliveries, delays, moves in queues and decisions of users
    EventNumber cancel_said = 0;  // a JobCancel about it was published, by anyone, last; 0: never
    StepJob step;
    Undoing undoing;
    bool input_unread = false;  // its hash says that it went on without its input

    /// What every reader of the two takes for the state (redis-schema.md 3.1).
    [[nodiscard]] State state() const { return in_hash == State::absent ? in_mirror : in_hash; }
};

/// What one replica knows of one worker.
struct Liveness {
    Since heard;  // a sound heartbeat or a handshake of a worker; event 0: never
    Since named;  // in a snapshot that the replica read, likewise
    WorkerReports reports;
};

}  // namespace lockstep::sim
