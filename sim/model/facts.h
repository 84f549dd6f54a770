// What happened, as rules see it. The facts of one command or script are delivered together, after it, in their order: each says what
// was before it and after it, while the model already is as the whole command left it.
//
// A new fact is a struct here, and the place in the model that makes it. It is Observed where real servers show it as well: in what Redis
// executes, what streams take, and what the harness does itself (prod/rehearsal). Calls and answers of a process are not shown, nor who
// was delivered what, nor what keeps a process from its work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/wire/fwd.h"
#include "sim/model/deliveries.h"
#include "sim/model/job.h"
#include "sim/model/key_lives.h"
#include "sim/model/late_deliveries.h"
#include "sim/model/lock_grants.h"
#include "sim/model/replica.h"
#include "sim/model/result_readers.h"
#include "sim/model/run_turns.h"
#include "sim/model/settings_text.h"
#include "sim/model/shared_circuit.h"
#include "sim/model/stored_snapshot.h"
#include "sim/model/tick_locks.h"
#include "sim/model/workflow_runs.h"

namespace lockstep::fakes::redis {
class Keyspace;
}

namespace lockstep::sim {

struct Observed {
    EventNumber event = 0;  // that it belongs to
    Time at{};
    fakes::NodeId node;        // who caused it; invalid: the clock or a fault
    const Job* job = nullptr;  // null: it is about no job
};

/// It is told by the simulator alone, or real servers show only a part of it.
struct ObservedInside : Observed {};

/// How the command that changes a job is bound to the job's lock.
struct UnderLock {
    LockUse use{};
    fakes::NodeId holder;     // invalid: none
    bool is_known = true;     // as of JobLock
    bool was_lost = false;    // a token that it had before may still be in use
    EventNumber changed = 0;  // as of JobLock
};

/// The field `state` of the hash of a job was written, maybe with the same value.
struct StateChanged : Observed {
    State from{};     // hash or state key
    State in_hash{};  // hash alone: a writer that reads nothing else goes on from this
    State to{};
    Dispatch dispatch;  // before it, and so the rest
    End end;
    EventNumber last_change = 0;  // of the field
    UnderLock lock;
    EventNumber tenant_activated = 0;  // when a job of its tenant took a slot last
};

/// Redis dated the last change of the state of a job.
struct StateDated : Observed {
    Stays stays;  // with that change
    WorkerNumber worker = 0;
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
struct StateUnread : ObservedInside {};

/// A replica has the reply to the commit that names a worker for a job.
struct DispatchCommitted : ObservedInside {};

/// A replica commits to a worker for a job that it handles.
struct WorkerChosen : ObservedInside {
    WorkerNumber worker = 0;
    Since since;                   // it made the choice after that
    std::optional<Choice> choice;  // nothing: it does not hold the lock, and the rest says nothing
    int number = 0;                // of the choices under the lock
    EventNumber begun = 0;         // when it acquired that
    EventNumber taken_back = 0;    // the last choice of this worker under the lock, which it has taken back; 0: none
    bool is_kept_free = false;     // the worker keeps a slot free for the job, or did when the lock was acquired
};

/// A scheduler that holds the lock of a job records why it did not send the job out.
struct NotSent : ObservedInside {
    std::string cause;
    Choice choice;
    bool was_refused = false;  // the store refused it a worker
};

/// A scheduler that holds the lock of a job publishes the job on its topic.
struct SentOnTopic : ObservedInside {
    std::string subject;
    Choice choice;
};

/// A dispatch leaves its replica for a worker.
struct Sent : ObservedInside {
    WorkerNumber worker = 0;
    EventNumber state_unread = 0;     // since when the replica could not read the state; 0: it could
    Sendings::Unanswered unanswered;  // what the replica was not told when it sent this message before
    std::string message_id;
    bool is_commits = false;     // the publish that belongs to a commit; else one more of the same dispatch
    Time committed_at{};         // when the replica had the reply to that commit
    Since lock_granted;          // to the replica, last; event 0: never
    bool has_request = false;    // it is a packet with a request, and so the rest
    PolicyWord::Word word;       // of policy on exactly this request
    PolicyWord::Question asked;  // the latest of the replica
    bool says_bypassed = false;  // by its labels, and so the next
    bool says_approved = false;
    bool is_approved = false;                  // by an operator, with this content
    std::string input;                         // the key of Redis where its input is; empty: none, or elsewhere
    const cap::JobRequest* request = nullptr;  // null: it is no packet with one
    std::int64_t number = 0;                   // of the dispatch, by the hash of the job
    std::optional<std::int64_t> id_of;         // the number of an earlier dispatch, or sending, of this message id
};

/// A message for a worker is in the stream. `job` is null: it names none.
struct DispatchStored : Observed {
    std::string message_id;
    std::uint64_t sequence = 0;
};

/// It arrived.
struct Arrived : Observed {
    std::string subject;
    std::string message_id;
};

/// A consumer has handed a message to a node.
struct Delivered : ObservedInside {
    const Unanswered* unanswered = nullptr;  // of the node, with this delivery
    std::uint64_t bytes = 0;
    MessageLife message;  // with this delivery
    bool is_packet = true;
    bool has_request = false;
    std::string_view topic;      // of that; valid during the call
    bool is_submission = false;  // by the schedulers' durable
    bool is_flawed = false;      // it is to be dropped, and names a job
    std::optional<SchedulersMessage> for_schedulers;
    std::int64_t count = 0;       // of its deliveries, as the server has it
    bool is_of_rollback = false;  // the submission of a compensation
};

/// A scheduler has read a request in the stream, in place of a delivery that was garbled. `job` is null: it names none.
struct RequestReadBack : ObservedInside {
    std::string_view topic;  // valid during the call
};

/// A word by which a message comes again has reached its consumer.
struct RequeueReached : ObservedInside {
    SchedulersMessage message;
    engine::Duration delay{};
};

/// A replica got the answer to its question about a job, or none.
struct PolicyAnswered : ObservedInside {
    bool is_answer = false;
    PolicySays says{};  // an answer
};

/// A replica calls the circuit of input policy that all share, or has the reply.
struct SharedCircuitCalled : ObservedInside {
    bool is_answered = false;
    bool is_unknown = false;  // the server does not know the script: it is called once more
    bool has_failed = false;
};

/// The failures that the shared circuit counts, or its trip, were written, or are gone.
struct SharedCircuitChanged : Observed {
    enum class Part : std::uint8_t { failures, trip, all };  // all: Redis was restored
    Part part{};
    SharedCircuit before, after;
    std::optional<fakes::redis::Removal> removed;
};

/// A node was frozen or thawed, or went down.
struct NodeChanged : ObservedInside {
    fakes::EventKind what{};
};

/// A connection of the node to a server broke.
struct ConnectionBroken : ObservedInside {
    fakes::NodeId server;
};

/// A node that hears heartbeats has not heard this one, which NATS took long ago.
struct HeartbeatMissed : ObservedInside {
    Since taken;
};

/// A node answers a delivery.
struct DeliveryAnswered : ObservedInside {
    std::optional<SchedulersMessage> for_schedulers;
    bool has_request = false;
    std::optional<engine::Duration> requeued_for;
    const Unanswered* unanswered = nullptr;  // of the node, without that delivery
    std::optional<Unanswered::Delivery> delivery;
    bool is_ack = false;
};

/// A message is to be delivered no more.
struct Terminated : Observed {
    MessageLife message;
    std::string stream;
    std::uint64_t sequence = 0;
};

/// A node is about to terminate a message that a consumer of schedulers delivered, or answers one of which few deliveries are left.
struct LateAnswer : ObservedInside {
    const Job* terminates = nullptr;  // the name of the dead letter of that message; null: it is not terminated
    bool requeues = false;
    std::string stream;
    std::uint64_t sequence = 0;
    bool is_last = false;                  // of its deliveries
    std::optional<LateDelivery> delivery;  // nothing: more are left, or it was answered before
};

/// The server has made all deliveries of a message, and none was settled.
struct DeliveriesExhausted : ObservedInside {};

/// A scheduler removed a job from the index of a final state.
struct Unlisted : Observed {
    State index{};
};

/// A command of a scheduler has written to the records of a job. Valid during the call.
struct JobWritten : Observed {
    const RecordChange* change = nullptr;
    std::int64_t redis_ms = 0;
};

/// A scheduler or workflow engine is about to publish a packet. Valid during the call.
struct Published : ObservedInside {
    const cap::BusPacket* packet = nullptr;
    std::string_view subject, message_id;
    std::int64_t redis_ms = 0;  // when it is, by the clock of Redis; 0: no command has told
    bool is_to_be_run = false;  // it is a request of a job, for a worker or for whoever reads its topic
    bool is_as_stored = true;   // a request with this content was stored for its job, or none that can be read
    bool is_asked_for = true;   // no job or alert of a workflow run, or an outbox of runs has had it
};

/// A scheduler or workflow engine has written or sent something of this name in the register of outputs, for the first time.
struct OutputMet : ObservedInside {
    std::string_view name;  // valid during the run
};

/// A scheduler or workflow engine has counted something, set a gauge or taken a sample. Valid during the call.
struct MetricTold : ObservedInside {
    std::string_view name;                     // in full
    double value = 0;                          // by which a counter grew
    std::span<const std::string_view> labels;  // their values
};

/// A scheduler wrote the settings of the system. `before` is empty where there were none.
struct SettingsWritten : Observed {
    std::string before, after;
    std::shared_ptr<const SettingsText> read_before, read_after;  // null: it cannot be read
};

/// A scheduler is about to publish a dead letter. `job` is null: it is about none. Valid during the call.
struct LetterSent : ObservedInside {
    const cap::BusPacket* packet = nullptr;
};

/// The stream has a sum of dead letters (LetterSums).
struct SumPublished : ObservedInside {
    std::string name;
    std::optional<Time> before;  // the sum of this name before it
};

/// A replica reports that a gate is done.
struct GatePassed : ObservedInside {};

/// A replica goes by an approval of a job that waits for one.
struct ApprovalCounted : ObservedInside {
    HumanWord::Waiting waiting;
};

/// A lock of any kind was given back or renewed.
struct LockTouched : Observed {
    std::string key;
    bool renewed = false;
    fakes::NodeId holder;      // valid
    LockUse use{};             // present_token, no_token or unseen
    EventNumber job_lock = 0;  // when the holder of the lock of this job changed last; 0: it is another lock
};

/// The request of a job was stored.
struct RequestStored : Observed {
    std::string_view tenant_before;  // that of the one before; empty: it has none, or the new one cannot be read
    EventNumber stored_before = 0;
};

/// A job was written down as one of a tenant.
struct TenantNamed : Observed {
    enum class Where : std::uint8_t { record, active_jobs, slots };
    Where where{};
    std::string_view tenant;     // valid during the run
    bool is_as_renamed = false;  // as in Job::renamed
};

/// A replica asks policy about a job.
struct PolicyAsked : ObservedInside {
    std::shared_ptr<const cap::PolicyCheckRequest> question;
    EventNumber acquired =
        0;  // when its handler acquired the job's lock; 0: it does not have it, or it is a rollback's
};

/// A replica asks output policy about the output of a job.
struct OutputAsked : ObservedInside {
    std::shared_ptr<const cap_output::OutputCheckRequest> question;
    std::optional<OutputSizes> sizes;  // of what it points to
    bool is_about_result = false;      // as of OutputScans::asked
};

/// The compensation of a job is being submitted. `job`: the one that it undoes.
struct CompensationSent : ObservedInside {
    std::string tenant;
    std::string conflict;  // how it names another one as well; empty: it does not
    const Job* by = nullptr;
    const cap::JobRequest* request = nullptr;     // valid during the call
    const SagaEntry* recorded = nullptr;          // null: it was not
    std::optional<SagaStack::Rollback> rollback;  // of its sender, before it
    bool was_denied = false;                      // its sender knows, or it was taken off the stack for that
    std::shared_ptr<const cap::PolicyCheckRequest> question;  // about it, last; null: none, or it cannot be read
};

/// The stream has one. `job`: the one that it undoes.
struct CompensationStored : Observed {
    const Job* by = nullptr;
    const Saga* saga = nullptr;
    const SagaEntry* recorded = nullptr;  // null: it was not
    const Job* before = nullptr;          // as which the stream had it before; null: it had not
    EventNumber stored_before = 0;
    std::uint64_t looked = 0;  // the look at the stack that it comes of, as Saga::last_step
};

/// One was taken off a stack. `job`: the one that it undoes, and so below.
struct CompensationTaken : Observed {
    const SagaEntry* recorded = nullptr;
    std::string_view lock;   // of the stack
    bool is_locked = false;  // by who took it, or that is not known
};

/// One was kept aside for its age.
struct CompensationTooOld : ObservedInside {
    const SagaEntry* recorded = nullptr;
    engine::Duration met_for{};  // since a rollback came across it first
};

/// A lock of any kind was taken or renewed. `key` is valid during the run, and so below.
struct LockGranted : Observed {
    std::string_view key;
    bool is_renewed = false;
    std::int64_t expires_at = 0;
    std::string token;  // of its holder
};

/// A lock was released, or ran out.
struct LockEnded : Observed {
    std::string_view key;
    fakes::NodeId holder;  // invalid: not known
    Since taken;
    bool has_run_out = false;
    bool is_lost = false;  // with data of Redis, likewise
    ReleaseAsked asked;    // before
};

/// A node has gone down that was asked to stop, and that nothing else has disturbed since.
struct Stopped : ObservedInside {
    struct HeldLock {
        std::string_view key;
        EventNumber since = 0;
    };
    Time asked{};
    bool redis_answered = false;                   // each call of it since
    std::vector<Unanswered::Delivery> unanswered;  // of schedulers' durables
    std::vector<HeldLock> locks;                   // of jobs and runs, which it knew to be its own
};

/// A replica whose lock on the job ran out does something about the job.
struct LockOutlived : ObservedInside {};

/// A command that names a tick lock was executed.
struct TickLockReached : ObservedInside {
    TickLock lock;
};

/// A replica read a page under a tick lock.
struct Ticked : ObservedInside {
    TickLock lock;  // before it
};

/// A replica changed the document of a workflow run, or tried to.
struct RunChanged : Observed {
    RunChange change;
};

/// The document of a workflow run was written.
struct RunWritten : Observed {
    const WorkflowRun* run = nullptr;
    JsonDocument before, after, definition;  // null: none; `after` never is
    EventNumber last_written = 0;            // before; 0: never
    bool by_user = false;                    // a gateway or an operator
    std::int64_t redis_ms = 0;               // by Redis' clock
};

/// The submission of the job of a step was asked for again, and by another request.
struct StepAskedForAnew : Observed {
    const WorkflowRun* run = nullptr;
};

/// The stream has the submission of the job of a step.
struct StepSubmitted : Observed {
    const WorkflowRun* run = nullptr;
};

/// An engine wrote the input of the job of a step.
struct StepInputWritten : Observed {
    const WorkflowRun* run = nullptr;
    std::string text;
};

/// The timeline of a run says that a delay is over.
struct DelayOver : Observed {
    const WorkflowRun* run = nullptr;
    std::string step;
};

/// A timer of a run was set.
struct TimerSet : Observed {
    const WorkflowRun* run = nullptr;
    std::int64_t at_ms = 0;     // by Redis' clock, rounded down
    std::int64_t redis_ms = 0;  // now
};

/// The input of a job was not there.
struct InputMissed : Observed {
    std::int64_t misses = 0;  // so far
};

/// A heartbeat or a handshake came that is out of bounds, and is no sign of life.
struct HeartbeatOutOfBounds : ObservedInside {
    std::string_view reason;
};

/// A process wrote the worker snapshot.
struct SnapshotWritten : Observed {
    StoredSnapshot before;  // without its text
};

/// A node is up.
struct ReplicaStarted : ObservedInside {};

/// A replica takes the first job since its start, and has not read the snapshot.
struct FirstJobTaken : ObservedInside {
    ReplicaStart start;
};

/// A replica counts a try of a job that it has taken since its start, and leaves the state of the job as it is.
struct TurnedAway : ObservedInside {};

/// A scheduler reaches Redis from now on (replica.h).
struct RedisReached : ObservedInside {};

/// A job whose submitter wrote labels or variables of policy leaves for a worker, or policy is asked about it or its output.
struct MarksCarried : ObservedInside {
    std::vector<ForeignMark> marks;
    bool about_output = false;
};

/// The submission of a job was acknowledged for the first time.
struct SubmitAcknowledged : Observed {};

/// Output policy answered the latest question about the output of a job.
struct OutputAnswered : ObservedInside {};

/// A user got the answer to an operation on a job.
struct OperationAnswered : Observed {
    Asked what{};
    bool accepted = false;
};

/// A scheduler acknowledges a result that brings an end.
struct ResultSettled : ObservedInside {
    State asks_for{};
    WorkerNumber worker = 0;
    EventNumber delivered = 0;  // to the scheduler; 0: not since it came up
    EventNumber processed = 0;  // when a scheduler first marked it so in Redis; 0: none did
};

/// A service that reads results (result_readers.h) acknowledges one.
struct ResultAcknowledged : ObservedInside {
    ResultReaders::Acknowledged result;
};

/// It is about to store one in the list of the job.
struct ResultRead : ObservedInside {
    ResultReaders::Repeated repeated;
};

/// A scheduler acknowledges or terminates a submission of a job.
struct SubmissionSettled : ObservedInside {
    bool was_only_one = false;     // message about the job that was delivered and not settled
    std::int64_t given_up_at = 0;  // the delivery at which it is terminated; 0: it is acknowledged
    EventNumber processed = 0;     // when it was marked so in Redis; 0: it is not
};

/// What became of the output of a job was told on sys.audit.output_policy. `job` is null: it names none.
struct OutputTold : Observed {
    std::string step, message;
    std::int32_t percent = 0;
    bool denied = false;
};

/// A dispatch reached a worker, or its sender learnt that it would, after the job had ended. `node`: the sender.
struct SentTooLate : ObservedInside {};

/// A scheduler told the worker of a job to leave off.
struct CalledOff : Observed {};

/// A workflow engine told that the job of a step is to be called off.
struct StepCalledOff : ObservedInside {};

/// A scheduler heard that a job is to be cancelled, which is known and has not ended.
struct AskedToCancel : ObservedInside {};

/// A command of a scheduler has written keys.
struct KeysWritten : Observed {
    const KeyLives* lives = nullptr;
};

/// A replica asks for the lock of a job that is PENDING or SCHEDULED, or does something under it.
struct WaitingJobTried : ObservedInside {
    Time before{};  // when that was last so, or since when the job has waited and was in no queue
};

/// A scheduler wrote the deadline of a job.
struct DeadlineWritten : Observed {
    std::int64_t before = 0;
};

/// A scheduler counted a dispatch of a job.
struct DispatchCounted : Observed {};

/// A replica acquires its first job since it found the limits of another file in the settings, and has not written those of its own.
struct FileLeftOut : ObservedInside {
    EventNumber found = 0;
};

/// A tenant of which a job waited had a free slot, and no job of it was being handled; one of these has changed. `job`: one that waited.
struct FreeSlotTaken : ObservedInside {
    Time free_since{};
};

/// A command wrote when a job is to be tried next, and nothing else of it after that.
struct Delayed : ObservedInside {};

/// A command of a scheduler changed slots or queues of tenants, or looked through them.
struct QueuesChanged : ObservedInside {
    const QueueStep* step = nullptr;
};

/// The list of the jobs that a worker has in flight was changed, or a replica has heard the worker.
struct WorkerRoomChanged : ObservedInside {
    WorkerNumber worker = 0;
    bool is_heard = false;
    bool serves_others = false;  // than before, maybe
};

/// The run is over: told once of each job.
struct AtRest : Observed {
    const fakes::redis::Keyspace* redis = nullptr;
    bool quiet = false;  // nothing is left to happen; else its time ran out
};

/// The same, told once of each workflow run.
struct RunAtRest : Observed {
    const WorkflowRun* run = nullptr;
    const fakes::redis::Keyspace* redis = nullptr;
    bool quiet = false;
};

/// The same, told once, after those.
struct AllAtRest : Observed {
    const fakes::redis::Keyspace* redis = nullptr;
    bool quiet = false;
    std::size_t handlers_in_flight = 0;  // of all schedulers and result readers that are up
};

/// The compensation of a step was recorded. `job`: the job that it undoes.
struct CompensationRecorded : Observed {
    bool carries_marks = false;
    const SagaEntry* recorded = nullptr;  // null: on a stack of which Redis has lost something
    bool is_second = false;               // one was recorded for the job before
};

template <class Happened>
inline constexpr bool kIsSeenOutside = !std::is_base_of_v<ObservedInside, Happened>;

}  // namespace lockstep::sim
