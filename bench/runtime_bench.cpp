// What the coroutine runtime costs: one resumption through the executor, one child task, one timer.
#include <benchmark/benchmark.h>

#include "engine/ports/clock.h"
#include "engine/runtime/one_shot.h"
#include "engine/runtime/run_queue.h"
#include "engine/runtime/scope.h"

namespace {

using namespace lockstep::engine;

/// Jumps to the next timer whenever nothing is ready.
class JumpingQueue final : public RunQueue {
public:
    void run_until_empty(const Scope& scope) {
        while (!scope.empty()) {
            run_ready(now_);
            if (const auto next = next_timer()) now_ = *next;
        }
    }
    [[nodiscard]] MonoTime monotonic() const override { return now_; }
    void unhandled(std::exception_ptr error) override { std::rethrow_exception(error); }

private:
    MonoTime now_{};
};

/// Gives the turn back to the executor once.
class Yield final : public Work {
public:
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) {
        waiting_ = waiting;
        waiting.promise().executor().post(*this);
    }
    static void await_resume() noexcept {}

private:
    void run() override { waiting_.resume(); }
    std::coroutine_handle<> waiting_;
};

Task<void> yield_times(std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) co_await Yield();
}

Task<int> child() { co_return 1; }

Task<void> await_children(std::int64_t times) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < times; ++i) sum += co_await child();
    benchmark::DoNotOptimize(sum);
}

Task<void> sleep_times(const Executor& executor, std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) co_await SleepUntil(executor.monotonic() + std::chrono::microseconds(1));
}

constexpr std::int64_t kSteps = 10'000;

void Resume(benchmark::State& state) {
    for (auto _ : state) {
        JumpingQueue queue;
        Scope scope(queue);
        scope.spawn(yield_times(kSteps));
        queue.run_until_empty(scope);
    }
    state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(Resume);

void ChildTask(benchmark::State& state) {
    for (auto _ : state) {
        JumpingQueue queue;
        Scope scope(queue);
        scope.spawn(await_children(kSteps));
        queue.run_until_empty(scope);
    }
    state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(ChildTask);

/// One sleeper among so many others that never wake.
void Timer(benchmark::State& state) {
    JumpingQueue queue;
    Scope sleepers(queue);
    for (std::int64_t i = 0; i < state.range(0); ++i)
        sleepers.spawn(
            [](std::int64_t n) -> Task<void> { co_await SleepUntil(MonoTime(std::chrono::hours(10'000 + n))); }(i));
    queue.run_ready(queue.monotonic());
    for (auto _ : state) {
        Scope scope(queue);
        scope.spawn(sleep_times(queue, kSteps));
        queue.run_until_empty(scope);
    }
    state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(Timer)->Arg(0)->Arg(1'000)->Arg(100'000);

}  // namespace
