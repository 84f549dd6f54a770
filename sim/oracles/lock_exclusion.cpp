#include "sim/oracles/lock_exclusion.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

/// Ends that need no lock.
constexpr bool is_unlocked_end(std::string_view state) { return state == "TIMEOUT" || state == "CANCELLED"; }

/// Tokens that are remembered of one job's lock. An older one is nobody's any more: its holder is told so at the next renewal.
constexpr std::size_t kFormerMax = 8;

}  // namespace

void LockExclusion::on_event(const fakes::Event& event, Time now) {
    if (event.kind == fakes::EventKind::lock_released) judge_owner(event, "gave back");
    if (event.kind == fakes::EventKind::lock_renewed) judge_owner(event, "renewed");
    if (event.job.empty()) return;
    note_survivor(event);
    switch (event.kind) {
        case fakes::EventKind::lock_acquired: on_acquired(event, now); break;
        case fakes::EventKind::lock_renewed:
            if (const auto lock = locks_.find(event.job); lock != locks_.end())
                lock->second.granted[event.node] = {now, present()};
            break;
        case fakes::EventKind::lock_released: leave(event); break;
        case fakes::EventKind::lock_expired:
            if (const auto lock = locks_.find(event.job); lock != locks_.end())
                lock->second.ran_out_under = lock->second.holder;
            leave(event);
            break;
        case fakes::EventKind::state: on_state(event); break;
        case fakes::EventKind::publish:
            if (event.when == fakes::When::before && is_worker_subject(event.subject)) on_publish(event, now);
            break;
        default: break;
    }
}

void LockExclusion::command(fakes::NodeId, std::span<const std::string_view> words, std::int64_t) { command_ = words; }

bool LockExclusion::names(std::string_view token) const { return std::ranges::find(command_, token) != command_.end(); }

void LockExclusion::on_acquired(const fakes::Event& event, Time now) {
    Lock& lock = locks_[std::string(event.job)];
    if (!lock.token.empty() && lock.token != event.name) leave(event);
    std::erase(lock.former, event.name);
    lock.holder = event.node;
    lock.token = event.name;
    lock.unknown = false;
    lock.changed = present();
    lock.granted[event.node] = {now, present()};
}

void LockExclusion::leave(const fakes::Event& event) {
    const auto found = locks_.find(event.job);
    if (found == locks_.end()) return;
    Lock& lock = found->second;
    if (!lock.token.empty()) lock.former.push_back(std::exchange(lock.token, {}));
    if (lock.former.size() > kFormerMax) lock.former.erase(lock.former.begin());
    lock.holder = {};
    lock.changed = present();
}

void LockExclusion::on_state(const fakes::Event& event) {
    if (by_user(event.node)) return;
    const auto found = locks_.find(event.job);
    const Lock* lock = found == locks_.end() ? nullptr : &found->second;
    if (lock != nullptr && lock->unknown) return;
    if (lock != nullptr && !lock->former.empty()) exercise();
    if (const std::string fault = fault_of(event, lock); !fault.empty())
        violated(event.node, event.job, fmt::format("it was made {} by {}", event.to, fault),
                 lock == nullptr ? 0 : lock->changed);
}

/// Empty for a change that may be.
std::string LockExclusion::fault_of(const fakes::Event& change, const Lock* lock) const {
    if (lock != nullptr && !lock->token.empty() && names(lock->token)) return {};
    const auto lost = [this](const std::string& token) { return names(token); };
    const bool has_lost = lock != nullptr && std::ranges::any_of(lock->former, lost);
    if (is_unlocked_end(change.to) && !has_lost) return {};
    if (lock == nullptr || lock->holder != change.node) return "a replica that does not hold its lock";
    // Of a server that is watched from outside the words of a command may be unknown.
    if (command_.empty()) return {};
    return has_lost ? "a handler that has lost its lock to another one of the same replica"
                    : "a command that names no lock, while a handler of the same replica holds it";
}

/// Of any lock. Who holds it is the event's peer; not valid where the lock came out of a loss of data.
void LockExclusion::judge_owner(const fakes::Event& event, std::string_view what) {
    if (!event.node.valid() || !event.peer.valid()) return;
    const bool told = command_.empty() || by_user(event.node) || names(event.name);
    const bool own = event.node == event.peer && told;
    if (own) return;
    const auto lock = locks_.find(event.job);
    violated(event.node, event.job,
             fmt::format("it {} {}, which another {} holds", what, event.key,
                         event.node == event.peer ? "handler of the same replica" : "one"),
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
