#include "sim/oracles/lock_exclusion.h"

#include <fmt/core.h>

#include "sim/oracles/job_keys.h"
#include "sim/world/topology.h"

namespace lockstep::sim {

namespace {

/// Scripts that end a job without its lock, and the ends that they give it.
constexpr bool needs_no_lock(std::string_view script) { return script == "time_out" || script == "cancel"; }
constexpr bool is_unlocked_end(std::string_view state) { return state == "TIMEOUT" || state == "CANCELLED"; }

constexpr bool is_gateway(fakes::NodeId node) { return node == Topology::kGateway || node == Topology::kOperator; }

}  // namespace

void LockExclusion::on_event(const fakes::Event& event, Time now) {
    if (event.kind == fakes::EventKind::lock_released) on_release(event);
    if (event.job.empty()) return;
    note_survivor(event);
    switch (event.kind) {
        case fakes::EventKind::lock_acquired: {
            Lock& lock = locks_[std::string(event.job)];
            if (lock.first_token.empty()) lock.first_token = event.name;
            lock.contested = lock.contested || lock.first_token != event.name;
            lock.holder = event.node;
            lock.unknown = false;
            lock.changed = present();
            lock.granted[event.node] = {now, present()};
            break;
        }
        case fakes::EventKind::lock_renewed:
            if (const auto lock = locks_.find(event.job); lock != locks_.end())
                lock->second.granted[event.node] = {now, present()};
            break;
        case fakes::EventKind::lock_released:
            if (const auto lock = locks_.find(event.job); lock != locks_.end()) {
                lock->second.holder = {};
                lock->second.changed = present();
            }
            break;
        case fakes::EventKind::lock_expired:
            if (const auto lock = locks_.find(event.job); lock != locks_.end()) {
                lock->second.ran_out_under = lock->second.holder;
                lock->second.holder = {};
                lock->second.changed = present();
            }
            break;
        case fakes::EventKind::state: on_state(event); break;
        case fakes::EventKind::redis:
            if (event.when == fakes::When::before && needs_no_lock(event.script))
                ends_unlocked_.emplace(event.node, event.job);
            break;
        case fakes::EventKind::publish:
            if (event.when == fakes::When::before && is_worker_subject(event.subject)) on_publish(event, now);
            break;
        default: break;
    }
}

void LockExclusion::on_state(const fakes::Event& event) {
    if (is_gateway(event.node)) return;
    if (is_unlocked_end(event.to) && ends_unlocked_.contains({event.node, std::string(event.job)})) return;
    const auto lock = locks_.find(event.job);
    if (lock != locks_.end() && lock->second.unknown) return;
    if (lock != locks_.end() && lock->second.contested) exercise();
    if (lock == locks_.end() || lock->second.holder != event.node)
        violated(event.node, event.job,
                 fmt::format("it was made {} by a replica that does not hold its lock", event.to),
                 lock == locks_.end() ? 0 : lock->second.changed);
}

/// Of any lock. Who holds it is the event's peer; not valid where the lock came out of a loss of data.
void LockExclusion::on_release(const fakes::Event& event) {
    if (!event.node.valid() || !event.peer.valid() || event.node == event.peer) return;
    const auto lock = locks_.find(event.job);
    violated(event.node, event.job, fmt::format("it gave back {}, which another one holds", event.key),
             lock == locks_.end() ? 0 : lock->second.changed);
}

/// Somebody whose lock ran out goes on with the job, and could do harm.
void LockExclusion::note_survivor(const fakes::Event& event) {
    if (event.when != fakes::When::before) return;
    const auto lock = locks_.find(event.job);
    if (lock == locks_.end() || !event.node.valid() || lock->second.ran_out_under != event.node) return;
    exercise();
    lock->second.ran_out_under = {};
}

void LockExclusion::on_publish(const fakes::Event& event, Time now) {
    const auto lock = locks_.find(event.job);
    if (lock == locks_.end()) return;
    const auto granted = lock->second.granted.find(event.node);
    if (granted == lock->second.granted.end()) return;
    const engine::Duration ttl = tunables_.job_lock_ttl;
    const engine::Duration drift = ttl / 8;  // clocks of a cluster may go a tenth slower than they should
    const engine::Duration age = now - granted->second.at;
    if (age > ttl + drift)
        violated(event.node, event.job,
                 fmt::format("it is published by a replica whose lock on it ran out {} ms ago",
                             engine::to_millis(age - ttl)),
                 granted->second.event);
}

void LockExclusion::restored(const fakes::redis::Keyspace&) {
    for (auto& [job, lock] : locks_) lock.unknown = true;
}

}  // namespace lockstep::sim
