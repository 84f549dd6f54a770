#include "sim/oracles/lock_exclusion.h"

#include <fmt/core.h>

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

constexpr bool needs_lock(std::string_view state) {
    return state == "SCHEDULED" || state == "DISPATCHED" || state == "RUNNING" || state == "SUCCEEDED";
}

}  // namespace

void LockExclusion::on_event(const fakes::Event& event, Time now) {
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
            if (const auto lock = locks_.find(event.job); lock != locks_.end()) lock->second.granted[event.node] = {now, present()};
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
        case fakes::EventKind::state: {
            if (!needs_lock(event.to)) break;
            const auto lock = locks_.find(event.job);
            if (lock != locks_.end() && lock->second.unknown) break;
            if (lock != locks_.end() && lock->second.contested) exercise();
            if (lock == locks_.end() || lock->second.holder != event.node)
                violated(event.node, event.job, fmt::format("it was made {} by a replica that does not hold its lock", event.to),
                         lock == locks_.end() ? 0 : lock->second.changed);
            break;
        }
        case fakes::EventKind::publish:
            if (event.when == fakes::When::before && is_worker_subject(event.subject)) on_publish(event, now);
            break;
        default: break;
    }
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
