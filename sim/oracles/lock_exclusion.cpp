#include "sim/oracles/lock_exclusion.h"

#include <fmt/core.h>

namespace lockstep::sim {

namespace {

constexpr bool needs_lock(std::string_view state) {
    return state == "SCHEDULED" || state == "DISPATCHED" || state == "RUNNING" || state == "SUCCEEDED";
}

}  // namespace

void LockExclusion::on_event(const fakes::Event& event, Time) {
    if (event.job.empty()) return;
    switch (event.kind) {
        case fakes::EventKind::lock_acquired: {
            Lock& lock = locks_[std::string(event.job)];
            if (lock.first_token.empty()) lock.first_token = event.name;
            lock.contested = lock.contested || lock.first_token != event.name;
            lock.holder = event.node;
            lock.unknown = false;
            break;
        }
        case fakes::EventKind::lock_released:
        case fakes::EventKind::lock_expired:
            if (const auto lock = locks_.find(event.job); lock != locks_.end()) lock->second.holder = {};
            break;
        case fakes::EventKind::state: {
            if (!needs_lock(event.to)) break;
            const auto lock = locks_.find(event.job);
            if (lock != locks_.end() && lock->second.unknown) break;
            if (lock != locks_.end() && lock->second.contested) exercise();
            if (lock == locks_.end() || lock->second.holder != event.node)
                violated(event.node, event.job, fmt::format("it was made {} by a replica that does not hold its lock", event.to));
            break;
        }
        default: break;
    }
}

void LockExclusion::restored(const fakes::redis::Keyspace&) {
    for (auto& [job, lock] : locks_) lock.unknown = true;
}

}  // namespace lockstep::sim
