// An executor that a test drives by hand, and a way to count what coroutines leave behind. For tests only.
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include "engine/runtime/run_queue.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

class TestExecutor final : public RunQueue {
public:
    MonoTime now{};
    std::exception_ptr failure;  // of a coroutine that nobody awaited

    [[nodiscard]] MonoTime monotonic() const override { return now; }
    void unhandled(std::exception_ptr error) override { failure = error; }

    /// One step; when nothing is ready, the clock goes on to the next timer. False when there is nothing left to do.
    bool step() {
        if (run_ready(now, 1) > 0) return true;
        const std::optional<MonoTime> next = next_timer();
        if (!next) return false;
        now = *next;
        return run_ready(now, 1) > 0;
    }
    void run() {
        while (step()) {
        }
    }
    void run_at(MonoTime when) {
        now = when;
        run_ready(now);
    }
};

/// Counts its living copies. A coroutine that holds one tells whether its frame is still there.
class Alive {
public:
    explicit Alive(int& count) : count_(&count) { ++*count_; }
    Alive(const Alive& other) : count_(other.count_) { ++*count_; }
    Alive(Alive&& other) noexcept : count_(other.count_) { ++*count_; }
    Alive& operator=(const Alive&) = delete;
    ~Alive() { --*count_; }

private:
    int* count_;
};

[[nodiscard]] constexpr MonoTime at(int milliseconds) { return MonoTime(std::chrono::milliseconds(milliseconds)); }

}  // namespace lockstep::engine
