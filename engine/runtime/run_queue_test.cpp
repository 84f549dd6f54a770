#include "engine/runtime/run_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/runtime/invariant.h"
#include "engine/runtime/test_executor.h"

namespace lockstep::engine {
namespace {

class Note final : public Work {
public:
    Note(std::vector<int>& notes, int value) : notes_(notes), value_(value) {}

private:
    void run() override { notes_.push_back(value_); }

    std::vector<int>& notes_;
    int value_;
};

class RunQueueTest : public ::testing::Test {
protected:
    TestExecutor queue;
    std::vector<int> notes;
    Note one{notes, 1};
    Note two{notes, 2};
    Note three{notes, 3};
};

// In every build: work that stood in two places would take others out of the queue with it.
TEST_F(RunQueueTest, RefusesWorkThatIsQueuedAlready) {
    queue.post(one);
    EXPECT_THROW(queue.post(one), InvariantViolation);
    EXPECT_THROW(queue.post_at(one, queue.now), InvariantViolation);
    EXPECT_EQ(queue.run_ready(queue.now), 1U);
    EXPECT_EQ(notes, std::vector<int>{1});
}

TEST_F(RunQueueTest, RunsReadyWorkFirstInFirstOut) {
    queue.post(two);
    queue.post(one);
    queue.post(three);
    EXPECT_EQ(queue.run_ready(queue.now), 3U);
    EXPECT_EQ(notes, (std::vector<int>{2, 1, 3}));
    EXPECT_TRUE(queue.idle());
}

TEST_F(RunQueueTest, RunsTimersByTimeAndThenByTheOrderOfTheirArming) {
    queue.post_at(one, at(20));
    queue.post_at(two, at(10));
    queue.post_at(three, at(10));
    EXPECT_EQ(queue.next_timer(), at(10));
    queue.run_ready(at(20));
    EXPECT_EQ(notes, (std::vector<int>{2, 3, 1}));
    EXPECT_EQ(queue.next_timer(), std::nullopt);
}

TEST_F(RunQueueTest, ATimerIsNotDueAMomentBeforeItsTime) {
    queue.post_at(one, at(10));
    EXPECT_EQ(queue.run_ready(at(10) - Duration{1}), 0U);
    EXPECT_EQ(queue.run_ready(at(10)), 1U);
}

TEST_F(RunQueueTest, WithdrawnWorkIsNotRun) {
    queue.post(one);
    queue.post_at(two, at(10));
    queue.post(three);
    one.withdraw();
    two.withdraw();
    one.withdraw();
    EXPECT_FALSE(one.queued());
    queue.run_ready(at(10));
    EXPECT_EQ(notes, std::vector<int>{3});
}

TEST_F(RunQueueTest, DestroyedWorkIsNotRun) {
    auto ready = std::make_unique<Note>(notes, 4);
    auto timed = std::make_unique<Note>(notes, 5);
    queue.post(*ready);
    queue.post_at(*timed, at(10));
    ready.reset();
    timed.reset();
    EXPECT_EQ(queue.run_ready(at(10)), 0U);
    EXPECT_TRUE(queue.idle());
}

TEST_F(RunQueueTest, WorkCanBeQueuedAgainOnceItHasRun) {
    queue.post(one);
    queue.run_ready(queue.now);
    queue.post_at(one, at(5));
    queue.run_ready(at(5));
    EXPECT_EQ(notes, (std::vector<int>{1, 1}));
}

TEST_F(RunQueueTest, ABudgetBoundsTheStepsOfOneCall) {
    queue.post(one);
    queue.post(two);
    queue.post(three);
    EXPECT_EQ(queue.run_ready(queue.now, 2), 2U);
    EXPECT_TRUE(queue.has_ready());
    EXPECT_EQ(queue.run_ready(queue.now, 2), 1U);
    EXPECT_FALSE(queue.has_ready());
}

class Posts final : public Work {
public:
    Posts(Executor& executor, Work& continuation, Work& ready, std::vector<int>& notes)
        : executor_(executor), continuation_(continuation), ready_(ready), notes_(notes) {}

private:
    void run() override {
        executor_.post(ready_);
        executor_.post_continuation(continuation_);
        notes_.push_back(0);
    }

    Executor& executor_;
    Work& continuation_;
    Work& ready_;
    std::vector<int>& notes_;
};

TEST_F(RunQueueTest, AContinuationRunsInTheSameStepBeforeOtherReadyWork) {
    Posts posts(queue, one, two, notes);
    queue.post(posts);
    queue.post(three);
    EXPECT_EQ(queue.run_ready(queue.now, 1), 1U);
    EXPECT_EQ(notes, (std::vector<int>{0, 1}));
    queue.run_ready(queue.now);
    EXPECT_EQ(notes, (std::vector<int>{0, 1, 3, 2}));
}

class Destroys final : public Work {
public:
    explicit Destroys(std::unique_ptr<Note>& victim) : victim_(victim) {}

private:
    void run() override { victim_.reset(); }

    std::unique_ptr<Note>& victim_;
};

TEST_F(RunQueueTest, WorkMayDestroyOtherWorkThatIsReady) {
    auto victim = std::make_unique<Note>(notes, 4);
    Destroys destroys(victim);
    queue.post(destroys);
    queue.post(*victim);
    queue.post(one);
    queue.run_ready(queue.now);
    EXPECT_EQ(notes, std::vector<int>{1});
}

}  // namespace
}  // namespace lockstep::engine
