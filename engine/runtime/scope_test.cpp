#include "engine/runtime/scope.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

#include "engine/ports/clock.h"
#include "engine/runtime/one_shot.h"
#include "engine/runtime/test_executor.h"
#include "engine/runtime/timeout.h"

namespace lockstep::engine {
namespace {

class ScopeTest : public ::testing::Test {
protected:
    TestExecutor executor;
};

Task<void> note(std::vector<int>& notes, int value) {
    notes.push_back(value);
    co_return;
}

TEST_F(ScopeTest, RunsNothingInsideSpawn) {
    std::vector<int> notes;
    Scope scope(executor);
    scope.spawn(note(notes, 1));
    EXPECT_TRUE(notes.empty());
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{1});
    EXPECT_TRUE(scope.empty());
}

TEST_F(ScopeTest, StartsItsChildrenInTheOrderOfTheirSpawning) {
    std::vector<int> notes;
    Scope scope(executor);
    for (const int value : {1, 2, 3}) scope.spawn(note(notes, value));
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 2, 3}));
}

class NotesItsEnd {
public:
    NotesItsEnd(std::vector<int>& notes, int value) : notes_(notes), value_(value) {}
    ~NotesItsEnd() { notes_.push_back(value_); }

private:
    std::vector<int>& notes_;
    int value_;
};

Task<void> sleep_and_note_end(std::vector<int>& notes, int value) {
    const NotesItsEnd end(notes, value);
    co_await SleepUntil(at(1000));
}

TEST_F(ScopeTest, DestroysTheYoungestChildFirst) {
    std::vector<int> notes;
    {
        Scope scope(executor);
        for (const int value : {1, 2, 3}) scope.spawn(sleep_and_note_end(notes, value));
        executor.run_ready(executor.now);
    }
    EXPECT_EQ(notes, (std::vector<int>{3, 2, 1}));
    EXPECT_TRUE(executor.idle());
}

Task<void> fail() {
    throw std::runtime_error("defect");
    co_return;
}

TEST_F(ScopeTest, ReportsAnExceptionThatNobodyAwaits) {
    Scope scope(executor);
    scope.spawn(fail());
    executor.run();
    ASSERT_NE(executor.failure, nullptr);
    EXPECT_THROW(std::rethrow_exception(executor.failure), std::runtime_error);
    EXPECT_TRUE(scope.empty());
}

Task<void> join_and_note(Scope& joined, std::vector<int>& notes) {
    co_await joined.join();
    notes.push_back(0);
}

TEST_F(ScopeTest, JoinWaitsForAllChildren) {
    std::vector<int> notes;
    Scope scope(executor);
    Scope waiting(executor);
    scope.spawn(sleep_and_note_end(notes, 1));
    scope.spawn(sleep_and_note_end(notes, 2));
    waiting.spawn(join_and_note(scope, notes));
    executor.run_ready(executor.now);
    EXPECT_TRUE(notes.empty());
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 2, 0}));
}

TEST_F(ScopeTest, JoinEndsWhenTheChildrenAreCancelled) {
    std::vector<int> notes;
    Scope scope(executor);
    Scope waiting(executor);
    scope.spawn(sleep_and_note_end(notes, 1));
    waiting.spawn(join_and_note(scope, notes));
    executor.run_ready(executor.now);
    scope.cancel();
    executor.run();
    EXPECT_EQ(notes, (std::vector<int>{1, 0}));
}

TEST_F(ScopeTest, CanBeUsedAgainAfterCancelling) {
    std::vector<int> notes;
    Scope scope(executor);
    scope.spawn(note(notes, 1));
    scope.cancel();
    scope.spawn(note(notes, 2));
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{2});
}

Task<void> cancel_other(Scope& other) {
    co_await SleepUntil(at(5));
    other.cancel();
}

TEST_F(ScopeTest, AChildMayCancelAnotherScopeWhoseWorkIsReady) {
    std::vector<int> notes;
    Scope scope(executor);
    Scope other(executor);
    scope.spawn(cancel_other(other));
    executor.run_ready(executor.now);
    executor.now = at(5);
    other.spawn(note(notes, 1));
    executor.run_ready(executor.now);  // the timer is due first, by then the other child is ready
    executor.run();
    EXPECT_LE(notes.size(), 1U);
    EXPECT_TRUE(other.empty());
}

// Goal: a scope can be destroyed wherever its coroutines stand, and nothing of them is left. Method: run a set that uses
// everything the runtime has, k steps for k = 0, 1, 2 … until it ends by itself, destroy it there, run on; the sanitizer
// watches, and the count of living frames must be zero.

struct Stage {
    TestExecutor executor;
    Semaphore semaphore{2};
    Mutex mutex;
    Event gate;
    int alive = 0;
    std::vector<std::function<void()>> callbacks;
};

Task<void> hold_permit(Stage& stage, Alive, int milliseconds) {
    const auto permit = co_await stage.semaphore.acquire();
    const Alive inside(stage.alive);
    co_await SleepUntil(stage.executor.now + std::chrono::milliseconds(milliseconds));
}

Task<int> receive(Stage& stage, Alive) {
    OneShot<int> shot;
    stage.callbacks.emplace_back([sender = shot.sender()] { sender.send(4); });
    co_return co_await shot.receive();
}

Task<void> nested(Stage& stage, Alive alive, int depth) {
    if (depth > 0) {
        co_await nested(stage, alive, depth - 1);
    } else {
        const int value = co_await receive(stage, alive);
        if (value != 4) throw std::logic_error("another value");
    }
    const auto guard = co_await stage.mutex.lock();
    co_await SleepUntil(stage.executor.now + std::chrono::milliseconds(1));
}

Task<void> race_deadline(Stage& stage, Alive alive) {
    const auto late = co_await with_deadline(stage.executor, stage.executor.now + std::chrono::milliseconds(3),
                                             receive(stage, alive));
    const auto waited = co_await stage.gate.wait_until(stage.executor.now + std::chrono::milliseconds(4));
    if (late.has_value() && waited) stage.gate.reset();
}

Task<void> inner_scope(Stage& stage, Alive alive) {
    Scope inner(stage.executor);
    inner.spawn(hold_permit(stage, alive, 3));
    inner.spawn(hold_permit(stage, alive, 30));
    co_await SleepUntil(stage.executor.now + std::chrono::milliseconds(2));
    inner.spawn(nested(stage, alive, 3));
    co_await stage.gate.wait();
}

Task<void> open_gate(Stage& stage, Alive) {
    for (int i = 0; i < 4; ++i) {
        co_await SleepUntil(stage.executor.now + std::chrono::milliseconds(2));
        for (const auto& callback : std::exchange(stage.callbacks, {})) callback();
        stage.gate.set();
    }
}

void spawn_everything(Stage& stage, Scope& scope) {
    const Alive alive(stage.alive);
    for (int i = 0; i < 4; ++i) scope.spawn(hold_permit(stage, alive, i));
    for (int i = 0; i < 3; ++i) scope.spawn(nested(stage, alive, i));
    scope.spawn(race_deadline(stage, alive));
    scope.spawn(inner_scope(stage, alive));
    scope.spawn(open_gate(stage, alive));
}

TEST(ScopeDestruction, LeavesNothingBehindAtAnyStepOfAnyCoroutine) {
    bool ended = false;
    int steps = 0;
    for (; !ended; ++steps) {
        Stage stage;
        {
            Scope scope(stage.executor);
            spawn_everything(stage, scope);
            for (int done = 0; done < steps && !ended; ++done) ended = !stage.executor.step();
        }
        EXPECT_EQ(stage.alive, 0) << "after " << steps << " steps";
        EXPECT_EQ(stage.semaphore.free(), 2U) << "after " << steps << " steps";
        for (const auto& callback : stage.callbacks) callback();  // answers that come too late
        EXPECT_TRUE(stage.executor.idle()) << "after " << steps << " steps";
        ASSERT_EQ(stage.executor.failure, nullptr);
    }
    EXPECT_GT(steps, 40);
}

TEST(ScopeDestruction, ACoroutineThatOutlivesTheOthersGoesOn) {
    // The same, but what is destroyed shares its semaphore, mutex and gate with a scope that lives on and must finish.
    bool ended = false;
    for (int steps = 0; !ended; ++steps) {
        Stage stage;
        Scope survivors(stage.executor);
        {
            Scope scope(stage.executor);
            spawn_everything(stage, scope);
            for (int i = 0; i < 3; ++i) survivors.spawn(hold_permit(stage, Alive(stage.alive), 1));
            survivors.spawn(open_gate(stage, Alive(stage.alive)));
            for (int done = 0; done < steps && !ended; ++done) ended = !stage.executor.step();
        }
        stage.executor.run();
        EXPECT_TRUE(survivors.empty()) << "after " << steps << " steps";
        EXPECT_EQ(stage.alive, 0) << "after " << steps << " steps";
    }
}

Task<void> cancels(Scope& scope) {
    scope.cancel();
    co_return;
}

TEST_F(ScopeTest, ATaskThatCancelsItsOwnScopeEndsTheProcess) {
    Scope scope(executor);
    scope.spawn(cancels(scope));
    EXPECT_DEATH(executor.run(), "a scope of 1 tasks is cancelled inside a step of one of them");
    Scope other(executor);
    scope.cancel();
    scope.spawn(cancels(other));
    executor.run();
    EXPECT_TRUE(scope.empty());
}

TEST_F(ScopeTest, ATaskThatHasBeenMovedAwayIsNotSpawned) {
    std::vector<int> notes;
    Scope scope(executor);
    Task<void> task = note(notes, 1);
    scope.spawn(std::move(task));
    EXPECT_THROW(scope.spawn(std::move(task)), InvariantViolation);
    executor.run();
    EXPECT_EQ(notes, std::vector<int>{1});
}

}  // namespace
}  // namespace lockstep::engine
