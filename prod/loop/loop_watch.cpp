#include "prod/loop/loop_watch.h"

#include <fmt/core.h>

#include <utility>

#include "engine/config/tunables.h"

namespace lockstep::prod {

LoopWatch::LoopWatch(engine::Duration limit, std::function<engine::MonoTime()> now)
    : limit_(limit), now_(std::move(now)), last_(now_()) {}

void LoopWatch::beat() {
    {
        const std::lock_guard lock(mutex_);
        last_ = now_();
        ++beats_;
    }
    beaten_.notify_all();
}

std::string LoopWatch::why_stalled() {
    std::unique_lock lock(mutex_);
    if (now_() - last_ <= limit_) return {};
    if (beaten_.wait_for(lock, kPatience, [this, seen = beats_] { return beats_ != seen; })) return {};
    const auto still = std::chrono::floor<std::chrono::milliseconds>(now_() - last_);
    return fmt::format("the event loop has stood still for {}, more than LOCKSTEP_LOOP_STALL_LIMIT ({})",
                       engine::format_duration(still), engine::format_duration(limit_));
}

engine::Task<void> LoopWatch::keep_beating(LoopWatch& watch, const engine::Clock& clock) {
    while (true) {
        watch.beat();
        co_await clock.sleep(watch.limit_ / 10);
    }
}

}  // namespace lockstep::prod
