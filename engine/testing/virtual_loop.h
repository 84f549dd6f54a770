// A loop for tests: real ordering rules, time that jumps to the next timer. Nothing sleeps.
#pragma once

#include <functional>
#include <optional>

#include "engine/ports/clock.h"
#include "engine/runtime/run_queue.h"
#include "engine/runtime/scope.h"

namespace lockstep::engine::testing {

class VirtualLoop final : public RunQueue {
public:
    [[nodiscard]] MonoTime monotonic() const override { return now_; }
    /// A defect in a background task fails the test that runs the loop.
    void unhandled(std::exception_ptr error) override { std::rethrow_exception(error); }

    /// Runs what is due now.
    void settle() { run_ready(now_); }
    void run_for(Duration span);
    /// Runs until `done()` holds, for no longer than `limit`. Answers whether it holds.
    bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::hours(1));

    /// Runs the task to its end. REQUIRES: it ends within `limit`.
    template <class T>
    T wait(Task<T> task, Duration limit = std::chrono::hours(1)) {
        std::optional<T> slot;
        Scope scope(*this);
        scope.spawn(keep(std::move(task), slot));
        run_until([&slot] { return slot.has_value(); }, limit);
        return std::move(slot.value());
    }
    void wait(Task<void> task, Duration limit = std::chrono::hours(1));

private:
    template <class T>
    static Task<void> keep(Task<T> task, std::optional<T>& slot) {
        slot.emplace(co_await std::move(task));
    }

    MonoTime now_{std::chrono::hours(1)};
};

/// Wall time runs along with the loop, from 2026-01-01T00:00:00Z.
class VirtualClock final : public Clock {
public:
    /// The loop outlives the clock.
    explicit VirtualClock(const VirtualLoop& loop) : loop_(loop), start_(loop.monotonic()) {}
    [[nodiscard]] WallTime now() const override {
        return WallTime(std::chrono::seconds(1'767'225'600)) + (loop_.monotonic() - start_);
    }
    [[nodiscard]] MonoTime monotonic() const override { return loop_.monotonic(); }

private:
    const VirtualLoop& loop_;
    MonoTime start_;
};

}  // namespace lockstep::engine::testing
