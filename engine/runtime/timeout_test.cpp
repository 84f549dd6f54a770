#include "engine/runtime/timeout.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "engine/ports/clock.h"
#include "engine/runtime/test_executor.h"

namespace lockstep::engine {
namespace {

class TimeoutTest : public ::testing::Test {
protected:
    void start(MonoTime deadline, Task<int> task) {
        scope.spawn(keep(executor, deadline, std::move(task), result, done));
    }

    static Task<void> keep(Executor& executor, MonoTime deadline, Task<int> task, std::optional<int>& result,
                           bool& done) {
        result = co_await with_deadline(executor, deadline, std::move(task));
        done = true;
    }

    static Task<int> answer_at(MonoTime when, Alive) {
        co_await SleepUntil(when);
        co_return 1;
    }
    static Task<int> answer_now() { co_return 1; }

    TestExecutor executor;
    std::optional<int> result;
    bool done = false;
    int alive = 0;
    Scope scope{executor};
};

TEST_F(TimeoutTest, GivesTheValueOfATaskThatIsInTime) {
    start(at(10), answer_at(at(5), Alive(alive)));
    executor.run();
    EXPECT_EQ(result, 1);
    EXPECT_EQ(executor.now, at(5));
    EXPECT_EQ(alive, 0);
}

TEST_F(TimeoutTest, GivesTheValueOfATaskThatDoesNotWait) {
    start(at(10), answer_now());
    executor.run();
    EXPECT_EQ(result, 1);
}

TEST_F(TimeoutTest, DestroysATaskThatIsLate) {
    start(at(10), answer_at(at(50), Alive(alive)));
    executor.run();
    EXPECT_TRUE(done);
    EXPECT_FALSE(result.has_value());
    EXPECT_EQ(executor.now, at(10));
    EXPECT_EQ(alive, 0);
}

TEST_F(TimeoutTest, ADeadlineInThePastStillLetsATaskRunThatNeedsNoTime) {
    executor.now = at(20);
    start(at(10), answer_now());
    executor.run_ready(executor.now);
    EXPECT_TRUE(done);
}

TEST_F(TimeoutTest, WhenBothAreDueAtOnceItEndsOnceAndLeavesNothingBehind) {
    start(at(10), answer_at(at(10), Alive(alive)));
    executor.run();
    EXPECT_TRUE(done);
    EXPECT_EQ(alive, 0);
    EXPECT_TRUE(executor.idle());
}

Task<void> run_nested(Executor& executor, bool& inner_late, bool& outer_late) {
    const auto inner = [](Executor& on, bool& late) -> Task<int> {
        const auto value = co_await with_deadline(on, at(10), [](MonoTime when) -> Task<int> {
            co_await SleepUntil(when);
            co_return 1;
        }(at(100)));
        late = !value.has_value();
        co_await SleepUntil(at(100));
        co_return 2;
    };
    const auto value = co_await with_deadline(executor, at(20), inner(executor, inner_late));
    outer_late = !value.has_value();
}

TEST_F(TimeoutTest, TimeoutsNest) {
    bool inner_late = false;
    bool outer_late = false;
    scope.spawn(run_nested(executor, inner_late, outer_late));
    executor.run();
    EXPECT_TRUE(inner_late && outer_late);
    EXPECT_EQ(executor.now, at(20));
}

TEST_F(TimeoutTest, CancellingTheWaiterCancelsTheTask) {
    start(at(10), answer_at(at(50), Alive(alive)));
    executor.run_ready(executor.now);
    EXPECT_EQ(alive, 1);
    scope.cancel();
    EXPECT_EQ(alive, 0);
    EXPECT_TRUE(executor.idle());
}

Task<int> throwing() {
    throw std::runtime_error("defect");
    co_return 0;
}

TEST_F(TimeoutTest, AnExceptionOfTheTaskReachesTheCaller) {
    start(at(10), throwing());
    executor.run();
    ASSERT_NE(executor.failure, nullptr);
    EXPECT_FALSE(done);
    EXPECT_TRUE(executor.idle());
    EXPECT_TRUE(scope.empty());
}

}  // namespace
}  // namespace lockstep::engine
