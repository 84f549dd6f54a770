// The plain executor: ready work first in, first out; timers by time, then by order of arming. The daemon's loop waits
// for the next timer, a test's loop jumps to it.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/runtime/executor.h"

namespace lockstep::engine {

class RunQueue : public Executor {
public:
    /// Moves every timer that is due at `now` to the ready work and runs until none is ready.
    /// `budget` bounds the steps of one call, so that the owner gets back to its sockets. Returns the steps run.
    std::size_t run_ready(MonoTime now, std::size_t budget = SIZE_MAX);
    /// When the next timer is due; empty when none is armed. Ready work means "at once": ask `has_ready` first.
    [[nodiscard]] std::optional<MonoTime> next_timer() const;
    [[nodiscard]] bool has_ready() const { return !ready_.empty(); }
    [[nodiscard]] bool idle() const { return ready_.empty() && timers_.empty(); }

private:
    using TimerKey = std::pair<MonoTime, std::uint64_t>;
    static constexpr std::uint64_t kReady = 0;

    std::uint64_t enqueue(Work& work) override;
    std::uint64_t enqueue_at(Work& work, MonoTime when) override;
    void dequeue(Work& work, std::uint64_t ticket) noexcept override;
    /// Called before work or a timer is taken in, which the loop may be waiting for; what throws here keeps it out.
    virtual void wake() {}

    WorkList ready_;
    std::map<TimerKey, Work*> timers_;
    std::unordered_map<std::uint64_t, MonoTime> due_;  // by ticket; never iterated
    std::uint64_t last_ticket_ = kReady;
};

}  // namespace lockstep::engine
