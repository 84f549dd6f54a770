// What is asked of Redis by ticking (redis-schema.md 5): the jobs that nobody moves any more, and the lines of the tenants. Reads
// are made as the holder of the tick's lock; for anybody else they find nothing.
//
// A call that is *unknown* may have taken effect; the next tick looks again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/ports/clock.h"
#include "engine/ports/redis.h"
#include "engine/runtime/identifiers.h"
#include "engine/store/job_state.h"
#include "engine/store/scripts.h"
#include "engine/store/store_news.h"

namespace lockstep::engine {

/// Where a round through the tenants in whose lines somebody stands has come to.
struct TenantRound {
    bool over = false;
    std::string tended;  // the place of the tenant that was tended last; empty = none
    bool more = false;   // it has more slots to be looked at: the same place once more
};

/// A lock that is held by ticking and never released. What a tick reads, it reads as the holder.
struct TickLock {
    std::string key;
    Token token;
};

/// A worker with free slots, as the registry knows it.
struct FreeWorker {
    WorkerId worker;
    std::string pool;
    std::vector<std::string> labels;    // names and values
    std::optional<std::int64_t> slots;  // jobs that it may have in flight; nothing = any number
    std::int64_t active = 0;            // jobs that it reported last,
    Duration age{};                     // so long ago
};

/// The jobs that wait for capacity, as one look has found them.
struct CapacityLook {
    bool lost = false;      // another replica holds the lock
    std::int64_t jobs = 0;  // that wait
    struct Queue {
        std::string name;
        bool unserved = false;  // no live worker fits it, as far as was noted
    };
    std::vector<Queue> queues;  // a page of those in which they wait
    std::string last_score;     // where the next page of those that are routed anew begins; empty = there is none
};

struct WaitingJob {
    JobId job;
    std::string request_json;  // empty when none is stored
};
struct ReplayPage {
    std::vector<WaitingJob> jobs;
    std::string last_score;  // where the next page begins; empty = there is none
    bool lost = false;       // the lock is another's: nothing was read
};

struct StaleJob {
    JobId job;
    std::string score;  // as Redis printed it
};

/// A page of an index. Members whose jobs are not known any more have been removed from it, and are not listed.
struct IndexPage {
    std::vector<StaleJob> jobs;
    std::int64_t pruned = 0;
    std::string last_score;  // where the next page begins; empty = there is none
};

/// A job that has been somewhere for too long, as Redis saw it at one instant.
struct OverdueJob {
    StaleJob stale;
    std::optional<JobState> state;  // nothing = the job is not known
    Duration limit{};               // the one that it has exceeded; zero for a deadline
    Duration overdue_by{};          // since then, by Redis' own clock
};

/// How long a job may stay in a state. Where its topic and its workflow both have a limit, the shorter one holds.
struct StayLimits {
    Duration otherwise{};
    std::map<std::string, Duration, std::less<>> by_topic;
    std::map<std::string, Duration, std::less<>> by_workflow;
};
struct OverduePage {
    std::vector<OverdueJob> jobs;
    std::string last_score;  // where the next page begins; empty = there is none
    bool lost = false;       // the lock is another's: nothing was read
};

/// Why a job is ended by the scheduler itself: a sentence for people, and the code of its dead letter.
struct TimeoutReason {
    std::string text;
    std::string code;
};

struct TimedOut {
    bool timed_out = false;
    std::optional<JobState> from;
    std::string topic;
    WorkerId worker;
    std::string trace_id;
};

/// Wherever something is asked for up to a `limit`: REQUIRES: a limit.
class SweepStore {
public:
    /// All arguments outlive the store.
    SweepStore(Redis& redis, Clock& clock, const Tunables& tunables, const StoreScripts& scripts, StoreNews& news)
        : redis_(redis), clock_(clock), tunables_(tunables), scripts_(scripts), news_(news) {}

    /// Jobs in `index` whose score is older than `age`, oldest first, without the first `skipped`; none for somebody who does
    /// not hold the lock. The page names no next one.
    [[nodiscard]] Task<Outcome<OverduePage>> stale_jobs(TickLock lock, std::string index, Duration age,
                                                        std::int64_t skipped, std::int64_t limit);
    /// Jobs that have been in `state` for longer than their limit, oldest first, from above the score `after` (empty = from
    /// the beginning); none for somebody who does not hold the lock.
    [[nodiscard]] Task<Outcome<OverduePage>> overdue_page(TickLock lock, JobState state, StayLimits limits,
                                                          std::string after, std::int64_t limit);
    /// Jobs listed as being in `state`, for `age` at least, oldest first, from above the score `after` (empty = from the
    /// beginning). Looks at `limit` members, whether their jobs are still known or not (D-13).
    [[nodiscard]] Task<Outcome<IndexPage>> index_page(JobState state, Duration age, std::string after,
                                                      std::int64_t limit);
    /// Jobs that have been in `state` for `age` and are due, oldest first, from above the score `after` (empty = from the
    /// beginning); none for somebody who does not hold the lock.
    [[nodiscard]] Task<Outcome<ReplayPage>> replay_page(TickLock lock, JobState state, Duration age, std::string after,
                                                        std::int64_t limit);
    /// Tends the tenant after the one at `after` (empty = from the beginning): looks at `slots` of those that hold its slots and
    /// strikes off whose job has ended, wakes whom there is room for, and has the first in line ask policy again where it has
    /// said nothing about the line for `ask_after` (zero = never). Over for a caller that does not hold the lock, whose place stays.
    [[nodiscard]] Task<Outcome<TenantRound>> tend_tenant(TickLock lock, std::string after, std::int64_t slots,
                                                         Duration ask_after);
    /// Hands free slots of the worker to jobs that wait for capacity: they are woken. How many jobs it has in flight then.
    [[nodiscard]] Task<Outcome<std::int64_t>> hand_on(FreeWorker worker);
    /// Looks after the jobs that wait for capacity, and tells of `page` of their queues without the first `skipped`. Jobs whose first
    /// wait has a score above `anew` ("-inf" = all, empty = none) are woken in pages, to be routed anew.
    [[nodiscard]] Task<Outcome<CapacityLook>> tend_capacity(TickLock lock, std::int64_t skipped, std::int64_t page,
                                                            std::string anew);
    /// Notes whether a live worker fits the queue. Where none has for `patience`, some of its jobs are woken, to be ended.
    [[nodiscard]] Task<Outcome<Done>> tend_queue(TickLock lock, std::string queue, bool fits, Duration patience);
    /// Ends a stale job as TIMEOUT if it still is in `expected` with that score; for a passed deadline (`expected` empty)
    /// whatever its state. A stray index entry is removed. REQUIRES: `expected` is a state that a job may time out in.
    [[nodiscard]] Task<Outcome<TimedOut>> time_out(StaleJob stale, std::string index, std::optional<JobState> expected,
                                                   TimeoutReason reason);

    /// Whether the store has anything of this job.
    [[nodiscard]] Task<Outcome<bool>> is_known(JobId job);
    /// Since when, by Redis' clock, the job is DISPATCHED or RUNNING that has been so longest; nothing where none is.
    [[nodiscard]] Task<Outcome<std::optional<WallTime>>> at_work_since();
    /// Whether the job is with a worker: DISPATCHED or RUNNING.
    [[nodiscard]] Task<Outcome<bool>> is_at_work(JobId job);

    /// Keeps or takes a lock that only expires. True when this token holds it. REQUIRES: a token, and a time to live.
    [[nodiscard]] Task<Outcome<bool>> tick_lock(TickLock lock, Duration ttl);

private:
    [[nodiscard]] MonoTime deadline() const { return clock_.in(tunables_.store_op_timeout); }

    Redis& redis_;
    Clock& clock_;
    const Tunables& tunables_;
    const StoreScripts& scripts_;
    StoreNews& news_;
};

}  // namespace lockstep::engine
