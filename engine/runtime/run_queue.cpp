#include "engine/runtime/run_queue.h"

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

std::size_t RunQueue::run_ready(MonoTime now, std::size_t budget) {
    std::size_t steps = 0;
    while (steps < budget) {
        while (!timers_.empty() && timers_.begin()->first.first <= now) {
            Work& due = *timers_.begin()->second;
            due.withdraw();
            post(due);
        }
        if (ready_.empty()) break;
        Work& work = ready_.pop_front();
        release(work);
        run_step(work);
        ++steps;
    }
    return steps;
}

std::optional<MonoTime> RunQueue::next_timer() const {
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first.first;
}

std::uint64_t RunQueue::enqueue(Work& work) {
    wake();
    ready_.push_back(work);
    return kReady;
}

std::uint64_t RunQueue::enqueue_at(Work& work, MonoTime when) {
    wake();
    const std::uint64_t ticket = ++last_ticket_;
    timers_.emplace(TimerKey{when, ticket}, &work);
    due_.emplace(ticket, when);
    return ticket;
}

void RunQueue::dequeue(Work& work, std::uint64_t ticket) noexcept {
    if (ticket == kReady) {
        ready_.remove(work);
        return;
    }
    const auto due = due_.find(ticket);
    INVARIANT(due != due_.end(), "no timer has the ticket {}, and {} are armed", ticket, timers_.size());
    timers_.erase(TimerKey{due->second, ticket});
    due_.erase(due);
}

}  // namespace lockstep::engine
