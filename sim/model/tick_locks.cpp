#include "sim/model/tick_locks.h"

#include <algorithm>
#include <utility>

namespace lockstep::sim {

using fakes::EventKind;

TickLock* TickLocks::find(std::string_view key) {
    if (!key.starts_with("cordum:")) return nullptr;
    auto* const found = std::ranges::find(locks_, key, &TickLock::key);
    return found == locks_.end() ? nullptr : &*found;
}

const TickHold* TickLocks::hold_of(fakes::NodeId replica) const {
    const auto found = holds_.find(replica);
    return found == holds_.end() ? nullptr : &found->second;
}

void TickLocks::on_lock(TickLock& lock, const fakes::Event& event, Since now) {
    if (event.kind == EventKind::lock_released || event.kind == EventKind::lock_expired) {
        const bool lost = event.kind == EventKind::lock_expired && (event.flag || lock.clock_is_off);
        if (lost) lock = {.key = lock.key, .kind = lock.kind};
        lock.held = false;
        return;
    }
    lock.granted_to = event.node;
    lock.granted = now;
    lock.held = true;
    lock.clock_is_off = drifts_;
    if (lock.kind != Kind::reconciler) return;
    TickHold& hold = holds_[event.node];
    hold.refused = 0;
    hold.granted_asked = hold.asked;
    hold.granted = now.event;
    hold.is_known = false;
    hold.answer_is_due = hold.asked != Time{};  // else its connection broke after it had asked
}

void TickLocks::called(const TickLock& lock, const fakes::Event& call, Time now) {
    if (lock.kind != Kind::reconciler) return;
    TickHold& hold = holds_[call.node];
    if (call.when == fakes::When::before) {
        hold.asked = now;
    } else if (call.when == fakes::When::answered && std::exchange(hold.answer_is_due, false)) {
        hold.granted_answered = now;
        hold.is_known = true;
    }
}

void TickLocks::reached(const TickLock& lock, fakes::NodeId replica, EventNumber event) {
    if (lock.kind == Kind::reconciler && lock.held && lock.granted_to != replica) holds_[replica].refused = event;
}

void TickLocks::ticked(TickLock& lock, fakes::NodeId replica, EventNumber event) {
    lock.last.replica = replica;
    lock.last.event = event;
    if (lock.granted_to == replica) lock.last.granted = lock.granted;
}

void TickLocks::clock_of_redis_set(bool drifts) {
    drifts_ |= drifts;
    for (TickLock& lock : locks_) lock.clock_is_off = true;
}

void TickLocks::data_lost() {
    for (TickLock& lock : locks_) lock = {.key = lock.key, .kind = lock.kind};
    holds_.clear();
}

}  // namespace lockstep::sim
