#include <gmock/gmock.h>

#include "sim/testing/simulation_fixture.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using namespace std::chrono_literals;

/// scheduler-0 takes 10 steps a second, the others as many as they like.
Scenario slow_scheduler() {
    Scenario scenario = testing::small_scenario();
    scenario.cluster.service_rates = {{"schedulers", 1e6}, {"scheduler-0", 10}};
    return scenario;
}

class ServiceRateTest : public testing::SimulationTest {
protected:
    ServiceRateTest() : SimulationTest(slow_scheduler()) {}
    void note(Duration delay, NodeId id, std::string text) {
        sim.after(id, delay, [this, text] { done.emplace_back(text, elapsed()); });
    }
    std::vector<std::pair<std::string, Duration>> done;
};

TEST_F(ServiceRateTest, OneStepAtATimeInTheOrderOfArrival) {
    note(1s, scheduler, "a");
    note(1s + 1ms, scheduler, "b");
    note(1s + 2ms, scheduler, "c");
    note(1s + 3ms, node("w-0"), "another machine");
    sim.run_for(5s);
    EXPECT_THAT(done, ElementsAre(Pair("a", 1s), Pair("another machine", 1s + 3ms), Pair("b", 1s + 100ms),
                                  Pair("c", 1s + 200ms)));
}

TEST_F(ServiceRateTest, WhatArrivesWhenTheNodeIsFreeDoesNotWait) {
    note(1s, scheduler, "a");
    note(2s, scheduler, "b");
    sim.run_for(5s);
    EXPECT_THAT(done, ElementsAre(Pair("a", 1s), Pair("b", 2s)));
}

TEST_F(ServiceRateTest, ACrashEmptiesTheLine) {
    testing::TestProcess process;
    sim.lifecycle().host(scheduler, process);
    sim.start();
    note(1s, node("w-0"), "");
    sim.run_for(10ms);
    for (int i = 0; i < 5; ++i) note(1s, scheduler, "lost");
    sim.run_for(1s + 50ms);
    crash(scheduler);
    sim.lifecycle().restart(scheduler);
    done.clear();
    note(20ms, scheduler, "of the next life");
    const Duration at = elapsed();
    sim.run_for(2s);
    EXPECT_THAT(done, ElementsAre(Pair("of the next life", at + 20ms)));
}

TEST_F(ServiceRateTest, APauseKeepsTheOrderOfTheLine) {
    std::uint64_t held = 0;
    for (const char* name : {"a", "b", "c"}) note(1s, scheduler, name);
    sim.run_for(1s + 10ms);
    sim.lifecycle().pause(scheduler, held);
    note(10ms, scheduler, "d");
    sim.run_for(1min);
    ASSERT_EQ(done.size(), 1U);
    const std::string first = done.front().first;
    done.clear();
    sim.lifecycle().resume(scheduler, held);
    sim.run_for(1min);
    ASSERT_EQ(done.size(), 3U);
    EXPECT_EQ(done.back().first, "d") << "it came after the others";
    EXPECT_EQ(done.back().second - done.front().second, 200ms);
    EXPECT_EQ(held, 3U);
}

}  // namespace
}  // namespace lockstep::sim
