// The reconciler: ends jobs that nobody moves any more (redis-schema.md 3.10).
//
// One replica ticks, see ticker.h. What it ends, it ends by comparing: a job that has moved since it was listed is left alone.
//
// How long a job may stay in a state is said for its topic, for its workflow, or for all (config/timeouts.h). A sweep looks
// at whatever has been there for the shortest of these times and ends what has exceeded its own, in pages that begin where
// the last one ended: jobs that may stay for hours hide none that may not.
//
// A result that the stream had before a job's limit wins over the timeout (D-04). Nobody at work is ended
// while such a result may be unheard, but for a time that is promised; who cannot ask the stream does not tick.
//
// Records of jobs that have ended expire, and the indexes of final states do not: members older than any record are looked at,
// some at each tick, and those without a job are removed (D-13).
//
// It also strikes off those that hold a slot of their tenant in the books and have been ended by somebody who knows nothing of
// these, for tenants whose jobs wait.
#pragma once

#include <map>
#include <string>

#include "engine/announce/dead_letters.h"
#include "engine/config/context.h"
#include "engine/config/timeouts.h"
#include "engine/reconcile/result_backlog.h"
#include "engine/reconcile/ticker.h"
#include "engine/reconcile/undelivered.h"
#include "engine/store/sweep_store.h"

namespace lockstep::engine {

class Reconciler {
public:
    /// `timeouts` are read anew at every tick. `messages` takes what their durables do not deliver. All arguments outlive the
    /// reconciler.
    Reconciler(const Context& context, const Timeouts& timeouts, Leases& leases, SweepStore& sweeps,
               DeadLetters& dead_letters, StoredMessages& messages);

    /// Ticks for ever.
    [[nodiscard]] Task<void> run();
    /// One tick, if this replica may.
    [[nodiscard]] Task<void> tick();

private:
    enum class Dealt : std::uint8_t { done, waits, failed };

    /// Times out what has been in `state` for longer than its limit.
    [[nodiscard]] Task<void> sweep_state(JobState state, StayLimits limits);
    [[nodiscard]] Task<void> sweep_deadlines();
    /// The tick is this replica's, and stays so. Only while the bus is there.
    [[nodiscard]] Task<bool> hold();
    [[nodiscard]] Task<bool> keep();
    /// Ends the job unless it has to wait, with `why` as the reason that a person reads. `expected`: as JobStore::time_out.
    [[nodiscard]] Task<Dealt> deal_with(OverdueJob overdue, std::string index, std::optional<JobState> expected,
                                        std::string why);
    [[nodiscard]] TimeoutReason reason_of(Overdue fate, std::string why) const;
    [[nodiscard]] Task<void> sweep_slots();
    [[nodiscard]] Task<void> prune_final_indexes();
    /// Removes members of an index whose jobs have expired. False when the tick is lost, or the store does not answer.
    [[nodiscard]] Task<bool> prune_index(JobState state);
    /// True when the index entry is dealt with.
    [[nodiscard]] Task<bool> end_job(StaleJob stale, std::string index, std::optional<JobState> expected,
                                     TimeoutReason reason);

    const Context& context_;
    const Timeouts& timeouts_;
    SweepStore& sweeps_;
    DeadLetters& dead_letters_;
    Ticker ticker_;
    ResultBacklog backlog_;
    Undelivered submissions_;
    Undelivered results_;
    // Where each sweep goes on, at the next tick where this one ends early:
    std::map<JobState, std::string> resume_after_;  // behind this score of the state's index
    std::int64_t deadlines_left_ = 0;               // behind so many deadlines that stay where they are
    std::string tended_;                            // behind the tenant at this place
};

}  // namespace lockstep::engine
