#include "engine/runtime/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/ports/clock.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/test_executor.h"

namespace lockstep::engine {
namespace {

Task<int> ready(int value) { co_return value; }

Task<int> later(int value) {
    co_await SleepUntil(at(10));
    co_return value;
}

Task<void> nothing() { co_return; }

Task<int> failing(bool wait) {
    if (wait) co_await SleepUntil(at(10));
    throw std::runtime_error("defect");
}

class TaskTest : public ::testing::Test {
protected:
    TestExecutor executor;
    Scope scope{executor};
};

Task<void> add_both(int& sum) {
    const int first = co_await ready(1);
    const int second = co_await later(2);
    sum = first + second;
}

TEST_F(TaskTest, DoesNothingUntilItIsAwaited) {
    int alive = 0;
    {
        const auto task = [](Alive) -> Task<void> { co_return; }(Alive(alive));
        EXPECT_GT(alive, 0);
    }
    EXPECT_EQ(alive, 0);
}

Task<void> await_what_is_gone() {
    Task<void> task = nothing();
    const Task<void> owner = std::move(task);
    co_await std::move(task);  // NOLINT(bugprone-use-after-move): what is refused
}

// In every build: there is no frame to go on with.
TEST_F(TaskTest, RefusesToAwaitATaskThatSomebodyElseOwns) {
    scope.spawn(await_what_is_gone());
    executor.run();
    ASSERT_TRUE(executor.failure);
    EXPECT_THROW(std::rethrow_exception(executor.failure), InvariantViolation);
}

TEST_F(TaskTest, HandsOverTheValuesOfReadyAndOfWaitingChildren) {
    int sum = 0;
    scope.spawn(add_both(sum));
    executor.run();
    EXPECT_EQ(sum, 3);
    EXPECT_TRUE(scope.empty());
}

Task<void> note_order(std::vector<std::string>& notes) {
    notes.emplace_back("before");
    const int value = co_await ready(1);
    notes.emplace_back("after " + std::to_string(value));
}

TEST_F(TaskTest, AReadyChildDoesNotSuspendItsAwaiter) {
    std::vector<std::string> notes;
    scope.spawn(note_order(notes));
    executor.run_ready(executor.now, 1);
    EXPECT_EQ(notes, (std::vector<std::string>{"before", "after 1"}));
}

Task<void> await_many(int count, std::int64_t& sum) {
    for (int i = 0; i < count; ++i) sum += co_await ready(1);
}

TEST_F(TaskTest, AMillionReadyAwaitsDoNotGrowTheStack) {
    std::int64_t sum = 0;
    scope.spawn(await_many(1'000'000, sum));
    executor.run();
    EXPECT_EQ(sum, 1'000'000);
}

Task<void> sleep_many(Executor& executor, int count, int& done) {
    for (; done < count; ++done) co_await SleepUntil(executor.monotonic());
}

TEST_F(TaskTest, AHundredThousandResumptionsDoNotGrowTheStack) {
    int done = 0;
    scope.spawn(sleep_many(executor, 100'000, done));
    executor.run();
    EXPECT_EQ(done, 100'000);
}

Task<int> chain(int depth) {
    if (depth == 0) co_return co_await later(0);
    const int below = co_await chain(depth - 1);
    co_return below + 1;
}

Task<void> measure_chain(int depth, int& result) { result = co_await chain(depth); }

TEST_F(TaskTest, AChainOfSuspendedParentsUnwindsWithoutRecursion) {
    int result = 0;
    scope.spawn(measure_chain(2'000, result));
    executor.run();
    EXPECT_EQ(result, 2'000);
}

Task<void> catch_failure(bool wait, std::string& caught) {
    try {
        const int value = co_await failing(wait);
        caught = std::to_string(value);
    } catch (const std::runtime_error& error) {
        caught = error.what();
    }
}

TEST_F(TaskTest, AnExceptionReachesTheAwaiterWhetherTheChildWaitedOrNot) {
    for (const bool wait : {false, true}) {
        std::string caught;
        scope.spawn(catch_failure(wait, caught));
        executor.run();
        EXPECT_EQ(caught, "defect");
        EXPECT_EQ(executor.failure, nullptr);
    }
}

Task<std::unique_ptr<int>> make_unique_later() {
    co_await SleepUntil(at(5));
    co_return std::make_unique<int>(9);
}

Task<void> keep_unique(std::unique_ptr<int>& kept) { kept = co_await make_unique_later(); }

TEST_F(TaskTest, MovesValuesThatCannotBeCopied) {
    std::unique_ptr<int> kept;
    scope.spawn(keep_unique(kept));
    executor.run();
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(*kept, 9);
}

TEST_F(TaskTest, AssigningDestroysTheFrameThatWasHeld) {
    int alive = 0;
    const auto make = [](Alive) -> Task<void> { co_return; };
    Task<void> task = make(Alive(alive));
    task = nothing();
    EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace lockstep::engine
