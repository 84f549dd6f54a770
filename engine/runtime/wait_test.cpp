#include "engine/runtime/wait.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/ports/clock.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/test_executor.h"

namespace lockstep::engine {
namespace {

class WaitTest : public ::testing::Test {
protected:
    TestExecutor executor;
    std::vector<int> notes;
    // What is waited for outlives the waiters.
    WaitQueue queue;
    Event gate;
    Semaphore semaphore{1};
    Semaphore two_permits{2};
    Scope scope{executor};
};

Task<void> wait_and_note(WaitQueue& queue, std::vector<int>& notes, int value) {
    const bool woken = co_await queue.wait();
    notes.push_back(woken ? value : -value);
}

Task<void> wait_until_and_note(WaitQueue& queue, MonoTime deadline, std::vector<int>& notes, int value) {
    const bool woken = co_await queue.wait_until(deadline);
    notes.push_back(woken ? value : -value);
}

TEST_F(WaitTest, AQueueWakesTheLongestWaiterFirst) {
    for (const int value : {1, 2, 3}) scope.spawn(wait_and_note(queue, notes, value));
    executor.run();
    EXPECT_TRUE(queue.wake_one());
    EXPECT_TRUE(queue.wake_one());
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 2}));
    EXPECT_TRUE(queue.wake_one());
    EXPECT_FALSE(queue.wake_one());
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 2, 3}));
}

TEST_F(WaitTest, WakingResumesNobodyOnTheWakersStack) {
    scope.spawn(wait_and_note(queue, notes, 1));
    executor.run();
    queue.wake_all();
    EXPECT_TRUE(notes.empty());
}

TEST_F(WaitTest, ADestroyedWaiterLeavesTheQueue) {
    auto first = std::make_unique<Scope>(executor);
    first->spawn(wait_and_note(queue, notes, 1));
    executor.run();
    scope.spawn(wait_and_note(queue, notes, 2));
    executor.run();
    first.reset();
    queue.wake_one();
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{2});
}

TEST_F(WaitTest, AWaiterThatIsDestroyedAfterItWasChosenGivesItsTurnToTheNext) {
    auto first = std::make_unique<Scope>(executor);
    first->spawn(wait_and_note(queue, notes, 1));
    executor.run();
    scope.spawn(wait_and_note(queue, notes, 2));
    executor.run();
    queue.wake_one();
    first.reset();
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{2});
}

TEST_F(WaitTest, ADeadlineEndsTheWait) {
    scope.spawn(wait_until_and_note(queue, at(10), notes, 1));
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{-1});
    EXPECT_TRUE(queue.empty());
}

TEST_F(WaitTest, WakingBeatsADeadlineThatIsDueInTheSameMoment) {
    scope.spawn(wait_until_and_note(queue, at(10), notes, 1));
    executor.run_ready(executor.now);
    executor.now = at(10);
    queue.wake_one();
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{1});
    EXPECT_TRUE(executor.idle());
}

Task<void> wake_at(WaitQueue& queue, MonoTime when) {
    co_await SleepUntil(when);
    queue.wake_one();
}

TEST_F(WaitTest, AWakingThatComesRightBeforeTheDeadlineRunsCounts) {
    // Both timers are due at once; the waker's was armed first, so the deadline is ready but has not run when it wakes.
    scope.spawn(wake_at(queue, at(10)));
    scope.spawn(wait_until_and_note(queue, at(10), notes, 1));
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{1});
}

TEST_F(WaitTest, AWakingThatComesAfterTheDeadlineGoesToTheNextWaiter) {
    scope.spawn(wait_until_and_note(queue, at(10), notes, 1));
    scope.spawn(wake_at(queue, at(10)));
    scope.spawn(wait_and_note(queue, notes, 2));
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{-1, 2}));
}

Task<void> pass_gate(Event& gate, std::vector<int>& notes, int value) {
    co_await gate.wait();
    notes.push_back(value);
}

TEST_F(WaitTest, AGateStaysOpenUntilItIsReset) {
    scope.spawn(pass_gate(gate, notes, 1));
    executor.run();
    EXPECT_TRUE(notes.empty());
    gate.set();
    scope.spawn(pass_gate(gate, notes, 2));
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 2}));
    gate.reset();
    scope.spawn(pass_gate(gate, notes, 3));
    executor.run();
    EXPECT_EQ(notes.size(), 2U);
}

Task<void> pass_gate_until(Event& gate, MonoTime deadline, std::vector<int>& notes, int value) {
    const bool open = co_await gate.wait_until(deadline);
    notes.push_back(open ? value : -value);
}

TEST_F(WaitTest, AGateThatIsSetAndResetAtOnceDoesNotLetAWaiterPass) {
    scope.spawn(pass_gate_until(gate, at(10), notes, 1));
    executor.run_ready(executor.now);
    gate.set();
    gate.reset();
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{-1});
}

Task<void> hold(Executor& executor, Semaphore& semaphore, std::vector<int>& notes, int value, int milliseconds) {
    const auto permit = co_await semaphore.acquire();
    notes.push_back(value);
    co_await SleepUntil(executor.monotonic() + std::chrono::milliseconds(milliseconds));
}

TEST_F(WaitTest, ASemaphoreServesWaitersInTheOrderInWhichTheyCame) {
    for (const int value : {1, 2, 3, 4}) scope.spawn(hold(executor, semaphore, notes, value, 5));
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(semaphore.free(), 1U);
}

Task<void> take_at(Semaphore& semaphore, std::vector<int>& notes, int value, MonoTime when) {
    co_await SleepUntil(when);
    const auto permit = co_await semaphore.acquire();
    notes.push_back(value);
}

TEST_F(WaitTest, ANewcomerDoesNotOvertakeAWaiterThatHasBeenChosen) {
    // The holder's sleep and the newcomer's end at the same instant: the permit is free again when the newcomer asks, and
    // the waiter that it was given to has not run yet.
    scope.spawn(hold(executor, semaphore, notes, 1, 5));
    scope.spawn(take_at(semaphore, notes, 3, at(5)));
    scope.spawn(hold(executor, semaphore, notes, 2, 5));
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 2, 3}));
}

TEST_F(WaitTest, EveryFreePermitFindsAWaiter) {
    // Two permits come back at once while one waiter has been chosen and another comes along.
    scope.spawn(hold(executor, two_permits, notes, 1, 5));
    scope.spawn(hold(executor, two_permits, notes, 2, 5));
    scope.spawn(take_at(two_permits, notes, 4, at(5)));
    scope.spawn(hold(executor, two_permits, notes, 3, 1000));
    executor.run_at(at(1));
    executor.run_at(at(5));
    executor.run_at(at(6));
    EXPECT_EQ(notes, (std::vector<int>{1, 2, 3, 4}));
}

TEST_F(WaitTest, APermitGoesToTheNextWaiterWhenTheChosenOneIsDestroyed) {
    auto holder = std::make_unique<Scope>(executor);
    auto chosen = std::make_unique<Scope>(executor);
    holder->spawn(hold(executor, semaphore, notes, 1, 1000));
    executor.run_ready(executor.now);
    chosen->spawn(hold(executor, semaphore, notes, 2, 1000));
    executor.run_ready(executor.now);
    scope.spawn(hold(executor, semaphore, notes, 3, 1000));
    executor.run_ready(executor.now);
    holder.reset();
    chosen.reset();
    executor.run_ready(executor.now);
    EXPECT_EQ(notes, (std::vector<int>{1, 3}));
}

TEST_F(WaitTest, APermitIsFreeAgainWhenTheOnlyWaiterIsDestroyedAfterItWasChosen) {
    auto holder = std::make_unique<Scope>(executor);
    auto chosen = std::make_unique<Scope>(executor);
    holder->spawn(hold(executor, semaphore, notes, 1, 1000));
    executor.run_ready(executor.now);
    chosen->spawn(hold(executor, semaphore, notes, 2, 1000));
    executor.run_ready(executor.now);
    holder.reset();
    chosen.reset();
    EXPECT_EQ(semaphore.free(), 1U);
    scope.spawn(hold(executor, semaphore, notes, 3, 1));
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 3}));
}

TEST_F(WaitTest, APermitIsGivenBackOnce) {
    Semaphore::Permit permit;
    scope.spawn([](Semaphore& from, Semaphore::Permit& into) -> Task<void> { into = co_await from.acquire(); }(
                                                                 semaphore, permit));
    executor.run();
    EXPECT_EQ(semaphore.free(), 0U);
    Semaphore::Permit moved = std::move(permit);
    permit.release();
    EXPECT_EQ(semaphore.free(), 0U);
    moved.release();
    moved.release();
    EXPECT_EQ(semaphore.free(), 1U);
}

}  // namespace
}  // namespace lockstep::engine
