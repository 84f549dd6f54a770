// What the model makes of locks: those of jobs and runs, and those under which replicas take turns.
#include <algorithm>
#include <utility>

#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::EventKind;
using fakes::When;

namespace {

constexpr bool is_looked_through(std::string_view key) {
    return key.starts_with("job:index:") || key == "job:deadline" || key.starts_with("wf:runs:status:") ||
           key == "cordum:wf:delay:timers" || key == "lockstep:wf:asked" || key == "lockstep:wf:outbox";
}

}  // namespace

void Model::on_lock(const Event& event, Time now) {
    const bool taken = event.kind == EventKind::lock_acquired;
    const bool released = event.kind == EventKind::lock_released;
    const bool expired = event.kind == EventKind::lock_expired;
    const Since since{clock_.present(), now};
    follow_grant(event, since);
    if (is_rollback_lock(event.key)) follow_rollback_lock(event, now);
    if (!taken && !expired && event.node.valid() && event.peer.valid()) on_lock_touched(event);
    if (TickLock* lock = tick_locks_.find(event.key)) tick_locks_.on_lock(*lock, event, since);
    if (expired && is_run_lock(event.key))
        if (WorkflowRun* run = runs_.find(event.key.substr(kRunLockPrefix.size()))) run->lock_expired = now;
    if (event.key == kSnapshotLock) on_snapshot_lock(event, since);
    if (event.job.empty()) return;
    Job& job = job_of(event);
    if (taken) may_choose(event, job, since);
    if (taken && is_job_lock(event.key)) {
        job.tries.is_taken_back = false;  // it is handled anew
        job.sources.trace_found = job.sources.trace;
    }
    if (is_job_lock(event.key) && (taken || released || expired)) {
        const fakes::NodeId replica = taken ? event.node : event.peer;
        const std::size_t token = std::hash<std::string_view>{}(event.name);
        const auto is_its = [&](const Acquired& one) { return one.replica == replica && one.token == token; };
        const auto known = std::ranges::find_if(job.acquired, is_its);
        if (expired && known != job.acquired.end()) known->ran_out = now;
        if (!expired) std::erase_if(job.acquired, is_its);
        if (taken) job.acquired.push_back({replica, token, clock_.present()});
    }
    if (taken && is_job_lock(event.key) && event.node.valid()) on_job_taken(event, job);
    if (released || expired) choose_no_more(job, event.peer, since, released);
    if (expired) {
        job.lock.ran_out_under = job.lock.holder;
        recount(job, [&] { job.lock.leave(since.event); });
        return;
    }
    if (taken && !event.flag && is_scheduler(event.node)) job.limits.begin_handling(event.number, now);
    if (taken && !by_user(event.node)) {
        job.passage.tried_by = event.node;
        job.passage.tried = since;
    }
    if (released) {
        recount(job, [&] { job.lock.leave(since.event); });
        job.lock.unreleased_by = {};
        if (event.node == event.peer) job.policy.lock_returned(event.node);
    } else if (taken) {
        recount(job, [&] { job.lock.take(event.node, event.name, since); });
        job.renamed = {};
        // Found again with its data: its holder goes on with what it has read and heard.
        if (event.flag) return;
        job.policy.lock_taken(event.node, now, answers_good_for_);
        job.output.lock_taken();
        job.scans.lock_taken(event.node);
    } else {
        job.lock.renew(event.node, since);
    }
    if (taken || released) job.reads.lock_changed_hands();
    if (!released) job.reads.lock_given(event.node);
}

void Model::on_lock_touched(const Event& event) {
    Job* job = event.job.empty() ? nullptr : &job_of(event);
    LockTouched& fact = note(LockTouched{}, event.node, job, clock_.present());
    fact.key = event.key;
    fact.renewed = event.kind == EventKind::lock_renewed;
    fact.holder = event.peer;
    const bool names_it = std::ranges::find(command_, event.name) != command_.end();
    fact.use = command_.empty() ? LockUse::unseen : names_it ? LockUse::present_token : LockUse::no_token;
    if (job != nullptr) fact.job_lock = job->lock.changed;
}

void Model::follow_grant(const Event& event, Since now) {
    if (event.key.empty()) return;  // only tests leave it out
    const Job* job = event.job.empty() ? nullptr : &job_of(event);
    const auto [key, holder, taken, asked] = lock_grants_.changed(event, now);
    if (event.kind == EventKind::lock_acquired || event.kind == EventKind::lock_renewed) {
        LockGranted& fact = note(LockGranted{}, event.node, job, clock_.present());
        fact.key = key;
        fact.expires_at = event.number;
        fact.is_renewed = event.kind == EventKind::lock_renewed;
        fact.token = event.name;
    } else {
        LockEnded& fact = note(LockEnded{}, holder, job, clock_.present());
        fact.key = key;
        fact.holder = holder;
        fact.taken = taken;
        fact.has_run_out = event.kind == EventKind::lock_expired;
        fact.is_lost = event.flag;
        fact.asked = asked;
    }
}

void Model::disturb_stop(fakes::NodeId node) {
    if (node.valid() && at(node).stop) replica(node).stop->is_disturbed = true;
}

void Model::note_stopped(fakes::NodeId node) {
    const std::optional<StopAsked>& stop = at(node).stop;
    if (!stop || stop->is_disturbed) return;
    Stopped& fact = note(Stopped{}, node, nullptr, clock_.present());
    fact.asked = stop->at;
    fact.redis_answered = at(node).redis_unanswered < stop->at;
    // Another server may have given the number of a message to another one, to which the answer would go; and whether it has cannot
    // always be learnt.
    fact.unanswered = deliveries_.of_schedulers(node);
    for (const LockGrant& lock : lock_grants_.all())
        if (lock.holder == node && lock.is_confirmed && is_released(lock.key))
            fact.locks.push_back({lock.key, lock.changed});
}

void Model::on_tick_call(TickLock& lock, const Event& event, Time now) {
    tick_locks_.called(lock, event, now);
    const bool is_schedulers = lock.kind == TickLock::Kind::reconciler || lock.kind == TickLock::Kind::replayer;
    if (event.when == When::answered && is_schedulers && event.node.valid()) {
        Replica& caller = replica(event.node);
        if (!std::exchange(caller.ticks, true)) caller.reached = {};
    }
    if (is_schedulers) tick_calls_[event.node].called(lock, event, now);
    if (event.when != When::applied) return;
    note(TickLockReached{}, event.node, nullptr, clock_.present()).lock = lock;
    tick_locks_.reached(lock, event.node, clock_.present());
}

void Model::zset_listed(fakes::NodeId client, std::string_view key) {
    if (key == kQueuedTenants) step().ticks = true;
    if (command_lock_ != nullptr && is_looked_through(key)) page_ = Page{client, command_lock_};
}

/// Told with the next event, which is of the same command.
void Model::on_page() {
    const auto [reader, lock] = *std::exchange(page_, std::nullopt);
    note(Ticked{}, reader, nullptr, clock_.present()).lock = *lock;
    TickLocks::ticked(*lock, reader, clock_.present());
}

void Model::note_run_change(fakes::NodeId client, std::optional<RunChange> change) {
    if (change) note(RunChanged{}, client, nullptr, clock_.present()).change = std::move(*change);
}

void Model::follow_record_call(const Event& event, Time now) {
    std::vector<RecordCall>& calls = job_of(event).record_calls;
    const auto known = std::ranges::find(calls, event.node, &RecordCall::replica);
    // A script that the server does not know is sent once more, whole.
    const bool ends = event.when == When::answered && !event.payload.starts_with("-NOSCRIPT");
    if (event.when == When::before && known == calls.end()) calls.push_back({event.node, now});
    if (ends && known != calls.end()) calls.erase(known);
}

}  // namespace lockstep::sim
