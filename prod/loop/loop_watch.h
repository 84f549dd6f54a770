// Whether an event loop still turns, as another thread sees it: the loop beats, and a loop without a beat for longer than the
// limit stands still, in a call that does not come back or in work without an end.
//
//   A process that was paused (a frozen container, a debugger) has a last beat that is just as old when it goes on, and is well:
//   the caller then waits for a moment, in which such a loop beats again and one that stands still does not.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "engine/ports/clock.h"
#include "engine/runtime/task.h"
#include "prod/loop/system_clock.h"

namespace lockstep::prod {

class LoopWatch {
public:
    /// How long an asker waits for a beat that is overdue. Less than the second that a probe of Kubernetes has by default.
    static constexpr std::chrono::milliseconds kPatience{500};

    /// `now` is asked from every thread that beats or asks. The first beat counts as given.
    explicit LoopWatch(engine::Duration limit, std::function<engine::MonoTime()> now = monotonic_now);

    /// The loop turns. Never waits for an asker's patience.
    void beat();
    /// For a loop that has stood still for longer than the limit, so and for how long, in words; else empty. Any thread but the
    /// loop's; takes up to kPatience.
    [[nodiscard]] std::string why_stalled();

    /// Beats ten times for each limit, as a step of the loop among the others; never ends. Both outlive it.
    [[nodiscard]] static engine::Task<void> keep_beating(LoopWatch& watch, const engine::Clock& clock);

private:
    const engine::Duration limit_;
    const std::function<engine::MonoTime()> now_;
    std::mutex mutex_;
    std::condition_variable beaten_;
    engine::MonoTime last_;
    std::uint64_t beats_ = 0;
};

}  // namespace lockstep::prod
