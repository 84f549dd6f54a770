#include "sim/world/lifecycle.h"

#include <gmock/gmock.h>

#include <optional>

#include "engine/runtime/scope.h"
#include "sim/testing/simulation_fixture.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class LifecycleTest : public testing::SimulationTest {
protected:
    std::uint64_t held = 0;
    std::vector<std::string> order;

    void note(Duration delay, NodeId id, std::string text) {
        sim.after(id, delay, [this, text] { order.push_back(text); });
    }
};

engine::Task<void> sleep_then(engine::Clock& clock, Duration delay, std::function<void()> action) {
    co_await clock.sleep(delay);
    action();
}

TEST_F(LifecycleTest, RunsCoroutinesOfANodeOnVirtualTime) {
    engine::Scope scope(sim.executor(scheduler));
    Duration woken{};
    scope.spawn(sleep_then(sim.clock(scheduler), 5min, [&] { woken = elapsed(); }));
    sim.run_for(1h);
    EXPECT_EQ(woken, 5min);
    EXPECT_EQ(events.count("timer scheduler-0"), 1);
}

TEST_F(LifecycleTest, HoldsEverythingOfAPausedNodeAndRunsItInOrderAfterwards) {
    note(1s, scheduler, "a");
    note(2s, scheduler, "b");
    note(3s, other, "not paused");
    note(4s, scheduler, "c");
    ASSERT_TRUE(sim.lifecycle().pause(scheduler, held));
    sim.run_for(10s);
    EXPECT_THAT(order, ElementsAre("not paused"));
    sim.lifecycle().resume(scheduler, held);
    sim.run_for(1ns);
    EXPECT_THAT(order, ElementsAre("not paused", "a", "b", "c"));
    EXPECT_EQ(held, 3U);
}

TEST_F(LifecycleTest, LetsTheClocksOfAPausedNodeGoOn) {
    const MonoTime before = sim.monotonic(scheduler);
    sim.lifecycle().pause(scheduler, held);
    sim.run_for(75s);
    EXPECT_EQ(sim.monotonic(scheduler) - before, 75s);
}

TEST_F(LifecycleTest, ResumesOnlyWhenEveryPauseHasEnded) {
    std::uint64_t second = 0;
    note(1s, scheduler, "a");
    sim.lifecycle().pause(scheduler, held);
    sim.lifecycle().pause(scheduler, second);
    sim.lifecycle().resume(scheduler, held);
    sim.run_for(2s);
    EXPECT_THAT(order, IsEmpty());
    sim.lifecycle().resume(scheduler, second);
    sim.run_for(1s);
    EXPECT_THAT(order, ElementsAre("a"));
}

TEST_F(LifecycleTest, CancelsTimersThatAPauseHoldsBack) {
    const auto timer = sim.after(scheduler, 1s, [this] { order.emplace_back("a"); });
    sim.lifecycle().pause(scheduler, held);
    sim.run_for(2s);
    sim.cancel(timer);
    sim.lifecycle().resume(scheduler, held);
    sim.run_for(2s);
    EXPECT_THAT(order, IsEmpty());
}

TEST_F(LifecycleTest, DropsTheTimersOfACrashedNodeAndArmsNoneUntilItIsUp) {
    note(1s, scheduler, "old");
    crash(scheduler);
    note(1s, scheduler, "while down");
    sim.lifecycle().restart(scheduler);
    note(1s, scheduler, "new");
    sim.run_for(5s);
    EXPECT_THAT(order, ElementsAre("new"));
}

// The process crashes on an event of its own step. The step runs to its end; only then is it destroyed.
TEST_F(LifecycleTest, DefersACrashToTheEndOfTheStep) {
    testing::TestProcess process;
    std::optional<engine::Scope> scope;
    process.on_start = [&] {
        scope.emplace(sim.executor(scheduler));
        scope->spawn(sleep_then(sim.clock(scheduler), 1s, [&] {
            sim.lifecycle().crash(scheduler);
            order.push_back(tell(fakes::EventKind::reached, "scheduler-0") ? "alive" : "dying");
            order.push_back("crashes " + std::to_string(process.crashes));
            EXPECT_EQ(sim.after(scheduler, 1s, [] {}), 0U);
        }));
        scope->spawn(sleep_then(sim.clock(scheduler), 2s, [&] { order.emplace_back("survived"); }));
    };
    process.on_crash = [&] { scope.reset(); };
    sim.lifecycle().host(scheduler, process);
    sim.start();
    sim.run_for(10s);
    EXPECT_THAT(order, ElementsAre("dying", "crashes 0"));
    EXPECT_EQ(process.crashes, 1);
    EXPECT_FALSE(sim.defect());
}

TEST_F(LifecycleTest, ForgetsThePauseOfANodeThatCrashes) {
    sim.lifecycle().pause(scheduler, held);
    crash(scheduler);
    sim.lifecycle().restart(scheduler);
    note(1s, scheduler, "a");
    sim.run_for(2s);
    EXPECT_THAT(order, ElementsAre("a"));
    sim.lifecycle().resume(scheduler, held);
    EXPECT_EQ(events.count("resumed scheduler-0"), 0);
}

TEST_F(LifecycleTest, StartsServersBeforeTheirClients) {
    testing::TestProcess redis;
    testing::TestProcess engine;
    redis.on_start = [&] { order.emplace_back("redis"); };
    engine.on_start = [&] { order.emplace_back("scheduler"); };
    sim.lifecycle().host(scheduler, engine);
    sim.lifecycle().host(Topology::kRedis, redis);
    sim.start();
    sim.run_for(1s);
    EXPECT_THAT(order, ElementsAre("redis", "scheduler"));
    EXPECT_THAT(events.lines, ElementsAre("node_up redis", "node_up scheduler-0"));
}

TEST_F(LifecycleTest, StopsTheRunWhenAProcessLeavesWorkBehind) {
    testing::TestProcess process;
    engine::Scope scope(sim.executor(scheduler));
    process.on_start = [&] { scope.spawn(sleep_then(sim.clock(scheduler), 1h, [] {})); };
    sim.lifecycle().host(scheduler, process);
    sim.start();
    sim.after(NodeId{}, 1s, [&] { sim.lifecycle().crash(scheduler); });
    EXPECT_EQ(sim.run(Time{1min}), Simulation::End::stopped);
    ASSERT_TRUE(sim.defect());
    EXPECT_TRUE(sim.defect()->invariant);
    EXPECT_THAT(sim.defect()->what, ::testing::HasSubstr("left 1 pieces of work behind"));
}

}  // namespace
}  // namespace lockstep::sim
