// Sending a job to a worker, once (wire.md 8.4).
//
// 1. A dispatch is a number on the job, committed together with DISPATCHED under the fence. Only the handler that
//    committed it ever publishes it.
// 2. The publish is preceded by a check of the lease, and its message id carries the number.
// 3. Acknowledged: RUNNING. Not applied: back to SCHEDULED. Anything else is unknown: a worker may have the job.
// 4. Unknown: look in the stream. Found counts as acknowledged. The same message is sent again only when the connection
//    that carried it is gone, the very server process that carried it says twice, a settling time apart, that its stream
//    holds nothing of it above a number that this process had given out before, the lease still holds, and the first
//    sending is not long ago. What another process says, one started after a power cut in particular, proves nothing: a
//    worker may have had the message all the same. Then, and whenever else it is not known, the job stays DISPATCHED: its
//    result moves it on, or the reconciler ends it visibly (D-15).
// 5. RUNNING refused because the job was ended meanwhile: a cancellation is broadcast after the job.
#pragma once

#include "engine/announce/dead_letters.h"
#include "engine/bus/disposition.h"
#include "engine/routing/pick.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

/// A job that policy lets through, and what is known about it.
struct DispatchOrder {
    cap::JobRequest& request;  // as it goes to the worker; empty once it has been sent
    const JobFacts& facts;
    const SafetyDecision& decision;
    std::string trace_id;
    MonoTime taken_up;             // when its handling began
    std::int64_t stale_picks = 0;  // dispatches of this try that were taken back because the worker had fallen silent
    std::optional<Commit> held_back;  // with commit_before_publish off: what is only written once the message is out
};

class Dispatcher {
public:
    Dispatcher(Replica& replica, DeadLetters& dead_letters) : replica_(replica), dead_letters_(dead_letters) {}

    /// Routes, commits and publishes. REQUIRES: the lease is held; the order outlives the call.
    [[nodiscard]] Task<Disposition> dispatch(JobLease& lease, DispatchOrder order);
    /// A redelivery found the job DISPATCHED: moves it on to RUNNING when its message is known to be in the stream, and
    /// publishes nothing in any case. REQUIRES: the lease is held, and the job was found so.
    [[nodiscard, gnu::noinline]] Task<Disposition> recover(JobLease& lease, const JobFacts& facts);
    /// Counts the try, notes its cause and hands the job back for a while, longer from try to try. REQUIRES: the lease is held.
    [[nodiscard]] Task<Disposition> try_later(JobLease& lease, const JobFacts& facts, std::string cause);
    /// Where every worker that may have the job is at its limit, has it wait for capacity: policy need not be asked for that. Nothing: it
    /// is to be handled. REQUIRES: the lease is held.
    [[nodiscard]] Task<std::optional<Disposition>> wait_if_full(JobLease& lease, const cap::JobRequest& request,
                                                                const JobFacts& facts);

private:
    struct Message {
        WorkerId worker;
        std::string payload;
        std::string topic;
        SoughtMessage sought;  // what it can be found by in the stream: subject and id among others
    };
    /// Where a job goes, and the dispatch that was committed for it.
    struct Chosen {
        WorkerId worker;  // empty: whoever listens on the topic
        std::string subject;
        StreamPlace floor;  // learnt before the commit
        DispatchNumber dispatch;
        WallTime committed_at{};     // by Redis' clock
        bool full = false;           // the store has refused it: the worker has as many jobs in flight as it may have,
        std::int64_t in_flight = 0;  // these
        bool others_wait = false;    // it has refused it for jobs that came earlier
    };
    enum class Sent : std::uint8_t { stored, not_sent, unknown };
    struct Sending {
        Outcome<PublishAck> outcome;
        std::string server;  // the process that carried it; empty = not known
    };

    /// Picks a worker and commits the dispatch to it, and does so again where the worker fell silent meanwhile: the commit may
    /// have outlived its last heartbeat. Nothing with `disposition` set.
    [[nodiscard]] Task<std::optional<Chosen>> choose_worker(JobLease& lease, DispatchOrder& order,
                                                            Disposition& disposition);
    [[nodiscard]] tl::expected<WorkerId, NoPick> pick(const DispatchOrder& order) const;
    /// How the store counts the worker's jobs; nothing where there is no such worker.
    [[nodiscard]] std::optional<SlotClaim> claim_on(const WorkerId& worker, const DispatchOrder& order) const;
    /// A worker was full: counts what the store says, and looks for another one.
    void note_full(const WorkerId& worker, std::int64_t in_flight);
    [[nodiscard]] bool gone_stale(const WorkerId& worker) const;
    /// Undoes a dispatch that was not sent; whether there may be another pick. If not, `disposition` is set.
    [[nodiscard, gnu::noinline]] Task<bool> take_back_from_stale(JobLease& lease, DispatchOrder& order,
                                                                 const Chosen& chosen, Disposition& disposition);
    [[nodiscard, gnu::noinline]] Task<Disposition> no_worker(JobLease& lease, const DispatchOrder& order,
                                                             DispatchReason reason, std::string detail);
    /// The reason with which a job ends that has waited for capacity for as long as it may, or whose queue no worker has fitted for
    /// too long (D-19, P5). `reason`: of its latest try. None: it may wait.
    [[nodiscard]] std::optional<DispatchReason> end_of_waiting(const JobFacts& facts, DispatchReason reason) const;
    /// Has the job wait for a worker with a free slot: no try is counted. False: nothing is to be waited for, or no longer.
    [[nodiscard]] bool wait_for_capacity(Commit& commit, const cap::JobRequest& request, const JobFacts& facts,
                                         DispatchReason reason);
    /// What becomes of a job whose commit to be tried again after `delay`, or to wait for capacity, came to this.
    [[nodiscard]] Disposition waits_or_tries_later(const Outcome<Committed>& committed, Duration delay);
    /// Of this try, for the dead letter that may come of it.
    static void note_cause(Commit& commit, std::string_view reason, const std::string& detail);
    /// After so many tries.
    [[nodiscard]] Duration backoff(std::int64_t attempts);
    [[nodiscard]] Disposition tenant_full(bool in_line);
    /// Sets the limit that the commit is to enforce. False: it has been asked for beforehand, and is reached.
    [[nodiscard]] Task<bool> bind_to_tenant(JobLease& lease, const DispatchOrder& order, Commit& commit);
    /// Commits the dispatch to what was chosen, and completes that. False with `disposition` set.
    [[nodiscard, gnu::noinline]] Task<bool> commit_dispatch(JobLease& lease, DispatchOrder& order, Chosen& chosen,
                                                            Disposition& disposition);
    [[nodiscard]] Task<Sending> transmit(const Message& message);
    [[nodiscard]] Task<Sent> send(JobLease& lease, const Message& message);
    /// Finds out what became of a message whose sending had an unknown outcome, and sends it again at most until
    /// `resend_until`. REQUIRES: nobody knows what became of it.
    [[nodiscard, gnu::noinline]] Task<Sent> settle(JobLease& lease, const Message& message, Sending carried,
                                                   MonoTime resend_until);
    /// Whether what was looked for and not found has certainly not been sent.
    [[nodiscard]] bool never_sent(const Sighting& denied, const Sending& carried) const;
    [[nodiscard, gnu::noinline]] Task<Disposition> take_back(JobLease& lease, const DispatchOrder& order,
                                                             const Message& message, DispatchNumber dispatch);
    [[nodiscard, gnu::noinline]] Task<Disposition> mark_running(JobLease& lease, DispatchNumber dispatch);

    Replica& replica_;
    DeadLetters& dead_letters_;
};

}  // namespace lockstep::engine
