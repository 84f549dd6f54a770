// Two holders never both commit under one lock: a job changes its state only by a command that names the token which its lock has
// at that instant. So two handlers of one replica are two holders. What a gateway writes is not judged. And nobody gives back, or
// renews, a lock that another one holds. What is taken with a lock is marked as in flight by its holder.
//
// Nor does a replica publish a job whose lock was last granted to it longer ago than a lock lives: no fence stands before
// the bus, but every replica can tell the time. One whose lock was taken away earlier cannot know.
#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/worker_life.h"

namespace lockstep::sim::rules {

namespace {

/// A cancellation and a time-out compare with what they expect instead of taking the lock (redis-schema.md 3.4). A command that names a
/// lock that it has lost may not bring them about either.
bool needs_no_lock(const StateChanged& change) {
    const bool unlocked_end = change.to == State::timeout || change.to == State::cancelled;
    return unlocked_end && change.lock.use != LockUse::former_token;
}

void changes_under_the_lock(const StateChanged& change, const Model&, Verdict& verdict) {
    const UnderLock& lock = change.lock;
    if (by_user(change.node) || !lock.is_known) return;
    verdict.exercised(lock.was_lost);
    if (lock.use == LockUse::present_token || needs_no_lock(change)) return;
    const bool holds = lock.holder.valid() && lock.holder == change.node;
    verdict.require(holds, lock.changed, "it was made {} by a replica that does not hold its lock",
                    to_string(change.to));
    verdict.require(!holds || lock.use == LockUse::unseen, lock.changed, "it was made {} by a {}", to_string(change.to),
                    lock.use == LockUse::former_token
                        ? "handler that has lost its lock to another one of the same replica"
                        : "command that names no lock, while a handler of the same replica holds it");
}

void touches_its_own(const LockTouched& lock, const Model&, Verdict& verdict) {
    const bool same_replica = lock.node == lock.holder;
    const bool own = same_replica && (lock.use != LockUse::no_token || by_user(lock.node));
    verdict.require(own, lock.job_lock, "it {} {}, which another {} holds", lock.renewed ? "renewed" : "gave back",
                    lock.key, same_replica ? "handler of the same replica" : "one");
}

/// The mark that says which handling has a job or run in flight is that of the lock's holder.
void leaves_its_mark(const LockGranted& lock, const Model& model, Verdict& verdict) {
    if (lock.is_renewed || !is_scheduler(lock.node)) return;
    verdict.cite("engine/store/redis-schema.md 5");
    const Job* job = is_job_lock(lock.key) ? lock.job : nullptr;
    const WorkflowRun* run =
        is_run_lock(lock.key) ? model.runs().find(lock.key.substr(kRunLockPrefix.size())) : nullptr;
    const bool is_job_open = job != nullptr && job->lock.token == lock.token && job->in_hash != State::absent &&
                             !is_final(job->in_hash) && !job->lost.any();
    verdict.require(!is_job_open || job->handling.token == lock.token, 0,
                    "its lock is taken, and it is marked as in flight with '{}'",
                    is_job_open ? job->handling.token : std::string{});
    const bool is_run_open = run != nullptr && run->document != nullptr && run->lost == 0;
    verdict.require(!is_run_open || run->handling.token == lock.token, 0,
                    "the lock of run {} is taken, and it is marked as in flight with '{}'",
                    is_run_open ? run->name : "", is_run_open ? run->handling.token : std::string{});
}

/// It could do harm.
void goes_on(const LockOutlived&, const Model&, Verdict& verdict) { verdict.exercised(); }

}  // namespace

void lock_exclusion(Rules& rules, const engine::Tunables& tunables) {
    rules.add(changes_under_the_lock);
    rules.add(touches_its_own);
    rules.add(leaves_its_mark);
    rules.add(goes_on);
    rules.add([&tunables](const Sent& sent, const Model&, Verdict& verdict) {
        const engine::Duration age = sent.at - sent.lock_granted.at;
        verdict.require(sent.lock_granted.event == 0 || age <= spec::by_the_slowest_clock(tunables.job_lock_ttl),
                        sent.lock_granted.event, "it is published by a replica whose lock on it ran out {} ms ago",
                        engine::to_millis(age - tunables.job_lock_ttl));
    });
}

}  // namespace lockstep::sim::rules
