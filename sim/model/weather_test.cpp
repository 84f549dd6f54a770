// Whom a disturbance excuses, and for how long.
#include "sim/model/weather.h"

#include <gtest/gtest.h>

#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::NodeId;
using fakes::When;

constexpr NodeId kReplica{5}, kOther{6}, kWorker{7};

class WeatherTest : public ::testing::Test {
protected:
    static fakes::Event event_of(EventKind kind, When when = When::applied) {
        return {.kind = kind, .when = when, .outcome = EventOutcome::applied};
    }
    void tell(EventKind kind, NodeId node, NodeId peer = {}) {
        weather.on_event({.kind = kind, .outcome = EventOutcome::applied, .node = node, .peer = peer}, now);
    }
    void fault(std::string_view name, std::string_view phase, NodeId node = {}) {
        weather.on_event(
            {.kind = EventKind::fault, .outcome = EventOutcome::applied, .node = node, .name = name, .from = phase},
            now);
    }
    void answer(EventKind kind, NodeId node, EventOutcome outcome) {
        weather.on_event({.kind = kind, .when = When::answered, .outcome = outcome, .node = node}, now);
    }

    Weather weather;
    Time now{10s};
};

TEST_F(WeatherTest, IsClearUntilSomethingHappens) {
    EXPECT_TRUE(weather.clear_for(kReplica, Time{}));
    EXPECT_TRUE(weather.clear_everywhere(Time{}));
}

TEST_F(WeatherTest, AFrozenReplicaExcusesItselfAndNoOther) {
    tell(EventKind::paused, kReplica);
    now += 5s;
    EXPECT_FALSE(weather.clear_for(kReplica, now)) << "it is still frozen";
    EXPECT_TRUE(weather.clear_for(kOther, Time{}));
    EXPECT_FALSE(weather.clear_everywhere(now));
    tell(EventKind::resumed, kReplica);
    EXPECT_FALSE(weather.clear_for(kReplica, now)) << "that instant included";
    EXPECT_TRUE(weather.clear_for(kReplica, now + 1ns));
}

TEST_F(WeatherTest, AServersFaultExcusesAllWhileItLasts) {
    fault("redis.errors", "begin");
    now += 1h;
    EXPECT_FALSE(weather.clear_for(kReplica, now));
    fault("redis.errors", "end");
    EXPECT_FALSE(weather.clear_for(kReplica, now));
    EXPECT_TRUE(weather.clear_for(kReplica, now + 1ns));
    fault("nats.restart", "begin");
    EXPECT_FALSE(weather.clear_for(kReplica, now));
    EXPECT_TRUE(weather.clear_for(kReplica, now + 1ns)) << "it is over when it has begun";
    fault("partition", "begin");
    now += 1s;
    EXPECT_FALSE(weather.clear_for(kReplica, now)) << "whose link it is is not told";
}

TEST_F(WeatherTest, ARedisThatStillLoadsIsDisturbedHoweverLongAgoItsRestartBegan) {
    fault("redis.restart", "begin");
    now += 1h;
    fakes::Event ping = event_of(EventKind::redis);
    ping.node = kWorker;
    ping.payload = "-LOADING Redis is loading the dataset in memory\r\n";
    weather.on_event(ping, now);
    EXPECT_FALSE(weather.clear_for(kReplica, now));
    EXPECT_TRUE(weather.clear_for(kReplica, now + 1ns));
    EXPECT_EQ(weather.settled_since(), now);
}

TEST_F(WeatherTest, TheKernelIsNoPartOfAJobsWayToItsWorker) {
    fault("kernel.outage", "begin");
    EXPECT_TRUE(weather.clear_for(kReplica, now));
    EXPECT_FALSE(weather.clear_everywhere(now));
    fault("kernel.outage", "end");
    now += 1s;
    answer(EventKind::kernel_check, kReplica, EventOutcome::unknown);
    EXPECT_TRUE(weather.clear_for(kReplica, now));
    EXPECT_FALSE(weather.clear_everywhere(now));
}

TEST_F(WeatherTest, WorkersAndOutputPolicyDisturbNoReplica) {
    fault("worker.silence", "begin");
    fault("output_policy.errors", "begin");
    tell(EventKind::heartbeat, kWorker);
    tell(EventKind::node_down, kWorker);
    EXPECT_TRUE(weather.clear_everywhere(now));
    EXPECT_FALSE(weather.clear_at(kWorker, now));
}

TEST_F(WeatherTest, ACallWithoutAnAnswerDisturbsTheCaller) {
    answer(EventKind::redis, kReplica, EventOutcome::applied);
    EXPECT_TRUE(weather.clear_for(kReplica, now));
    answer(EventKind::publish, kReplica, EventOutcome::unknown);
    EXPECT_FALSE(weather.clear_for(kReplica, now));
    EXPECT_TRUE(weather.clear_for(kOther, now));
}

TEST_F(WeatherTest, ABrokenConnectionIsNoTroubleOfTheServers) {
    tell(EventKind::connection_broken, kWorker, Topology::kNats);
    EXPECT_TRUE(weather.clear_for(kReplica, now));
    tell(EventKind::connection_broken, Topology::kRedis, kReplica);
    EXPECT_FALSE(weather.clear_for(kReplica, now));
}

TEST_F(WeatherTest, AReplicaThatStopsIsAwayUntilItStartsAgain) {
    fault("stop", "begin", kReplica);
    now += 10s;
    EXPECT_FALSE(weather.clear_for(kReplica, now));
    tell(EventKind::node_down, kReplica);
    now += 1s;
    EXPECT_FALSE(weather.clear_for(kReplica, now));
    tell(EventKind::node_up, kReplica);
    EXPECT_TRUE(weather.clear_for(kReplica, now + 1ns));
}

TEST_F(WeatherTest, LastsFromWhenTheClusterCouldRecoverAndNothingGoesWrong) {
    EXPECT_FALSE(weather.lasts_for(now)) << "no replica ticks";
    fakes::Event tick = event_of(EventKind::redis, When::before);
    tick.node = kReplica;
    tick.key = "cordum:reconciler:default";
    weather.on_event(tick, now);
    fault("worker.silence", "begin");
    EXPECT_FALSE(weather.lasts_for(now));
    EXPECT_TRUE(weather.has_fault());
    fault("worker.silence", "end");
    EXPECT_EQ(weather.lasts_for(now + 5s), 5s);
    EXPECT_FALSE(weather.has_fault());
    tell(EventKind::node_down, kReplica);
    EXPECT_FALSE(weather.lasts_for(now + 5s));
    now += 1s;
    tell(EventKind::node_up, kReplica);
    EXPECT_EQ(weather.lasts_for(now + 5s), 5s);
    EXPECT_EQ(weather.settled_since(), now);
    EXPECT_EQ(weather.last_trouble(), now - 1s) << "a start is no trouble";
}

}  // namespace
}  // namespace lockstep::sim
