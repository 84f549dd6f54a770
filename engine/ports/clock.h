// The clock port: the only place where the engine learns the time.
//
// `now` is the wall clock of this node: it may be skewed against other nodes and may jump. Nothing that decides about
// correctness compares it with another node's; stored instants are taken inside Redis scripts with Redis TIME.
// `monotonic` never goes back and measures waits, deadlines and leases.
#pragma once

#include <coroutine>

#include "engine/runtime/executor.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

/// `co_await` it to be continued at or after `when` on the executor's monotonic clock.
class SleepUntil final : public Work {
public:
    explicit SleepUntil(MonoTime when) : when_(when) {}

    static bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) {
        waiting_ = waiting;
        waiting.promise().executor().post_at(*this, when_);
    }
    static void await_resume() noexcept {}

private:
    void run() override { waiting_.resume(); }

    MonoTime when_;
    std::coroutine_handle<> waiting_;
};

class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual WallTime now() const = 0;
    /// Agrees with the executor's `monotonic()`.
    [[nodiscard]] virtual MonoTime monotonic() const = 0;

    /// The instant `delay` from now, for the deadline of a call.
    [[nodiscard]] MonoTime in(Duration delay) const { return monotonic() + delay; }
    [[nodiscard]] SleepUntil sleep(Duration delay) const { return SleepUntil(monotonic() + delay); }
};

}  // namespace lockstep::engine
