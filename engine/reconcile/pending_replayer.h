// The pending replayer: takes up jobs again that are in the store and that no message will bring back (redis-schema.md 3.10).
//
// 1. One replica ticks, at once when it starts and then at every interval (see ticker.h). A tick goes through all jobs that
//    have been PENDING, approved, or SCHEDULED for `pending_age`, in pages that begin where the last one ended, so that
//    jobs which cannot be placed hide no others; where a tick ends early the next one goes on. Jobs whose next try is not due are
//    left alone.
// 2. Between ticks every replica tries the jobs again whose messages it has acknowledged before they could be placed.
//    Jobs that the store has woken, because there is room for them in their tenant's limit now, are tried at once by the
//    replica whose call has woken them, however many others are due.
// 3. A tick goes through the tenants in whose lines jobs stand, too: a job whose wake nobody has heard is woken again, and
//    one whose limit policy may have raised meanwhile asks.
// 4. All hand the stored request to the request handler directly; the job's lock keeps it apart from deliveries.
// 5. A job whose request is missing, and still is after another `pending_age`, can never be handled: it ends FAILED with a
//    dead letter. The wait is for submissions that are in the stream and have not been delivered yet.
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/announce/dead_letters.h"
#include "engine/bus/message_pump.h"
#include "engine/config/context.h"
#include "engine/reconcile/ticker.h"
#include "engine/runtime/crowd.h"
#include "engine/runtime/scope.h"
#include "engine/store/job_store.h"
#include "engine/store/sweep_store.h"

namespace lockstep::engine {

/// Who handles the requests that the replayer finds.
class RequestTaker {
public:
    virtual ~RequestTaker() = default;
    /// As if the request had come from the bus, its id as somebody has written it.
    [[nodiscard]] virtual Task<Disposition> handle(cap::JobRequest request, std::string trace_id) = 0;
    /// Under the id that it is stored by.
    [[nodiscard]] virtual Task<Disposition> handle_stored(cap::JobRequest request, std::string trace_id) = 0;
};

class PendingReplayer final : public ParkedJobs, public WokenJobs {
public:
    /// Parked jobs that one replica remembers until they are being tried. The ones beyond are found by a tick.
    static constexpr std::size_t kParkedMax = 10'000;

    /// All arguments outlive the replayer, which listens to the store for as long as it lives.
    PendingReplayer(const Context& context, JobStore& store, SweepStore& sweeps, Leases& leases,
                    DeadLetters& dead_letters, RequestTaker& requests);
    PendingReplayer(const PendingReplayer&) = delete;
    PendingReplayer& operator=(const PendingReplayer&) = delete;
    ~PendingReplayer() override;

    /// Ticks for ever.
    [[nodiscard]] Task<void> run();
    /// One tick, if this replica may. Jobs that it has found may still be at work when it returns.
    [[nodiscard]] Task<void> tick();

    void park(JobId job, std::string tenant, Duration delay) override;
    void wake(JobId job) override;

    /// Waits until `deadline` for what is at work; what then still is, is destroyed where it stands. Parked jobs are left to
    /// other replicas. REQUIRES: the scheduler is stopping.
    [[nodiscard]] Task<void> drain(MonoTime deadline);

    /// Jobs that are being tried, and woken ones that wait for their turn.
    [[nodiscard]] std::size_t in_progress() const { return replays_.size(); }
    /// Parked jobs whose delay has not passed, or that wait for their turn.
    [[nodiscard]] std::size_t parked() const { return waits_.size(); }
    /// Jobs without a request that are to be given up.
    [[nodiscard]] std::size_t requestless() const { return requestless_.size(); }

private:
    /// Goes through the jobs in `state`. False when the lock is gone.
    [[nodiscard]] Task<bool> sweep(JobState state);
    /// Goes through the tenants with a line. False when the lock is gone.
    [[nodiscard]] Task<bool> tend_lines();
    [[nodiscard]] Task<void> replay(WaitingJob waiting, JobState state, Semaphore::Permit slot);
    // Many may wait out a delay or wait for a slot at once, so that what they do then is no part of their frames.
    /// Waits out the delay of a parked job, then for a place of its tenant and for a slot, and has it tried then.
    [[nodiscard]] Task<void> wait_out(JobId job, std::string tenant, Duration delay);
    [[nodiscard]] Task<void> try_woken(JobId job);
    /// `tenant`: empty where it is not known.
    [[nodiscard, gnu::noinline]] Task<void> try_stored(JobId job, std::string tenant, Semaphore::Permit slot,
                                                       Crowd::Place place);
    [[nodiscard, gnu::noinline]] Task<Disposition> handle(JobId job, cap::JobRequest request);
    /// Ends a job that has no request, once it has had none for long enough; that counts from `since` where it is met the first time.
    [[nodiscard, gnu::noinline]] Task<void> give_up(JobId job, std::string reason, MonoTime since);
    /// Jobs that others have ended, or given a request, are not met again.
    void forget_unmet();

    const Context& context_;
    JobStore& store_;
    SweepStore& sweeps_;
    Leases& leases_;
    DeadLetters& dead_letters_;
    RequestTaker& requests_;
    Ticker ticker_;
    // Where each sweep goes on, at the next tick where this one ends early:
    std::map<JobState, std::string> resume_after_;  // behind this score of the state's index
    std::string tended_;                            // behind the tenant at this place
    Semaphore slots_;
    Crowd tenants_;          // the share of each among parked jobs that are tried
    Semaphore woken_slots_;  // of their own: room is kept free for woken jobs, and may not wait for what finds none
    /// A job without a request: since when, and when it was last met.
    struct Requestless {
        MonoTime since, met;
    };
    std::map<JobId, Requestless> requestless_;
    std::set<JobId> parked_;  // those in `waits_`: they wait for their delay to pass, or for a slot then
    Scope replays_;           // these last: their tasks use everything above
    Scope waits_;
};

}  // namespace lockstep::engine
