#include "engine/workflow/local_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/runtime/scope.h"
#include "engine/testing/virtual_loop.h"

namespace lockstep::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class Turns : public ::testing::Test {
protected:
    Task<void> visit(std::string run, std::vector<std::string> jobs, Duration stay) {
        LocalTurns::Turn turn = co_await turns.take(std::move(run), std::move(jobs));
        most = std::max(most, ++inside);
        for (std::string& job : turn.take_jobs()) seen.push_back(std::move(job));
        co_await clock.sleep(stay);
        --inside;
    }

    testing::VirtualLoop loop;
    testing::VirtualClock clock{loop};
    LocalTurns turns;
    Scope scope{loop};
    int inside = 0;
    int most = 0;
    std::vector<std::string> seen;
};

// FLOW-01
TEST_F(Turns, OfFiftyVisitsToOneRunOnlyOneIsInsideAndNothingIsLeft) {
    for (int n = 0; n < 50; ++n) scope.spawn(visit("run-1", {}, 10ms));
    loop.run_for(1s);
    EXPECT_EQ(most, 1);
    EXPECT_EQ(inside, 0);
    EXPECT_EQ(turns.runs(), 0u);
}

// FLOW-02
TEST_F(Turns, DifferentRunsAreVisitedSideBySide) {
    for (int n = 0; n < 20; ++n) scope.spawn(visit("run-" + std::to_string(n), {}, 10ms));
    loop.run_for(1ms);
    EXPECT_EQ(inside, 20);
}

TEST_F(Turns, WhoIsInsideSeesToWhatTheOthersCameFor) {
    scope.spawn(visit("run-1", {"a"}, 10ms));
    loop.run_for(1ms);
    scope.spawn(visit("run-1", {"c", "b"}, 10ms));
    scope.spawn(visit("run-1", {"b"}, 10ms));
    loop.run_for(1ms);
    EXPECT_THAT(seen, ElementsAre("a"));
    loop.run_for(10ms);
    EXPECT_THAT(seen, ElementsAre("a", "b", "c")) << "once each";
}

TEST_F(Turns, WhatWasGivenBackIsSeenByTheNext) {
    loop.wait([](LocalTurns& all) -> Task<void> {
        LocalTurns::Turn turn = co_await all.take("run-1", {"a"});
        turn.give_back(turn.take_jobs());
    }(turns));
    EXPECT_EQ(turns.runs(), 0u) << "whoever came for it comes again; nothing is kept for nobody";
    scope.spawn(visit("run-1", {"b"}, 1ms));
    loop.run_for(5ms);
    EXPECT_THAT(seen, ElementsAre("b"));
}

TEST_F(Turns, AVisitorThatIsDestroyedWhileItWaitsLeavesTheRunToOthers) {
    scope.spawn(visit("run-1", {}, 10ms));
    loop.run_for(1ms);
    {
        Scope stopped(loop);
        stopped.spawn(visit("run-1", {}, 10ms));
        loop.run_for(1ms);
    }
    loop.run_for(20ms);
    EXPECT_EQ(turns.runs(), 0u);
    EXPECT_EQ(inside, 0);
}

}  // namespace
}  // namespace lockstep::engine
