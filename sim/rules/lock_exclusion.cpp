// Two holders never both commit under one lock: a job changes its state only by a command that names the token which its lock has
// at that instant. So two handlers of one replica are two holders. What a gateway writes is not judged. And nobody gives back, or
// renews, a lock that another one holds.
//
// Nor does a replica publish a job whose lock was last granted to it longer ago than a lock lives: no fence stands before
// the bus, but every replica can tell the time. One whose lock was taken away earlier cannot know.
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

/// It could do harm.
void goes_on(const LockOutlived&, const Model&, Verdict& verdict) { verdict.exercised(); }

}  // namespace

void lock_exclusion(Rules& rules, const engine::Tunables& tunables) {
    rules.add(changes_under_the_lock);
    rules.add(touches_its_own);
    rules.add(goes_on);
    rules.add([&tunables](const Sent& sent, const Model&, Verdict& verdict) {
        const engine::Duration age = sent.at - sent.lock_granted.at;
        verdict.require(sent.lock_granted.event == 0 || age <= spec::by_the_slowest_clock(tunables.job_lock_ttl),
                        sent.lock_granted.event, "it is published by a replica whose lock on it ran out {} ms ago",
                        engine::to_millis(age - tunables.job_lock_ttl));
    });
}

}  // namespace lockstep::sim::rules
