#include "sim/simulation/simulation.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "engine/runtime/invariant.h"
#include "engine/runtime/scope.h"
#include "sim/testing/simulation_fixture.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

class SimulationRun : public testing::SimulationTest {};

/// Every node chats with a server for a while, among faults: what the digest is taken over.
class Chatter {
public:
    Chatter(std::uint64_t seed, TieOrder ties, const SchedulePolicy& schedule = {})
        : sim(scenario(schedule), seed, {.ties = ties}) {
        sim.listen(Topology::kRedis, "redis", server);
        for (const Topology::Entry& node : sim.topology().nodes()) {
            if (node.role == NodeRole::scheduler || node.role == NodeRole::worker) chat(node.id);
        }
        sim.run(Time{1min});
        sim.close();
    }
    Simulation sim;

private:
    static Scenario scenario(const SchedulePolicy& schedule) {
        Scenario made = testing::small_scenario();
        made.cluster.schedule = schedule;
        made.cluster.network_latency = {Distribution::Kind::lognormal, 1ms, {}, 0.5};
        made.cluster.clock_offset = {Distribution::Kind::uniform, -50ms, 50ms, 0};
        made.cluster.clock_drift_ppm = 50;
        Fault partition;
        partition.what = faults::Partition{{.a = "workers", .b = "redis"}};
        partition.at = 10s;
        partition.duration = 5s;
        Fault crash;
        crash.what = faults::Crash{};
        crash.part<faults::OfNode>()->target = "actor";
        crash.on.emplace();
        crash.on->event = fakes::EventKind::heartbeat;
        crash.on->nth = 100;
        crash.duration = 3s;
        made.faults = {partition, crash};
        return made;
    }
    void chat(NodeId node) {
        sim.connect(node, Topology::kRedis, "redis", listener,
                    [this, node](auto connection) { talk(node, connection); });
    }
    void talk(NodeId node, const std::shared_ptr<fakes::Connection>& connection) {
        fakes::Event event;
        event.kind = fakes::EventKind::heartbeat;
        event.node = node;
        event.number = static_cast<std::int64_t>(sim.entropy(node).next() >> 1U);
        if (!sim.trace().emit(event)) return;
        connection->send_to_server([this, node, connection] {
            connection->send_to_client([this, node, connection] {
                sim.after(node, 100ms, [this, node, connection] { talk(node, connection); });
            });
        });
    }
    testing::AcceptingServer server;
    testing::Listener listener;
};

TEST(SimulationDigest, IsTheSameForTheSameSeed) {
    const Chatter first(7, TieOrder::drawn);
    Chatter second(7, TieOrder::drawn);
    EXPECT_GT(first.sim.steps(), 1000U);
    EXPECT_EQ(const_cast<Simulation&>(first.sim).trace().digest(), second.sim.trace().digest());
}

TEST(SimulationDigest, DiffersForAnotherSeed) {
    Chatter first(7, TieOrder::drawn);
    Chatter second(8, TieOrder::drawn);
    EXPECT_NE(first.sim.trace().digest(), second.sim.trace().digest());
}

TEST(SimulationDigest, DiffersForAnotherScheduleAndIsTheSameForTheSame) {
    Chatter by_chance(7, TieOrder::drawn);
    for (const auto kind : {SchedulePolicy::Kind::pct, SchedulePolicy::Kind::delay_bounded}) {
        const SchedulePolicy policy{kind, 4, 1000, 5ms};
        Chatter first(7, TieOrder::drawn, policy);
        Chatter second(7, TieOrder::drawn, policy);
        EXPECT_EQ(first.sim.trace().digest(), second.sim.trace().digest());
        EXPECT_NE(first.sim.trace().digest(), by_chance.sim.trace().digest());
        Chatter without_preemptions(7, TieOrder::drawn, {kind, 1, 1000, 5ms});
        EXPECT_NE(first.sim.trace().digest(), without_preemptions.sim.trace().digest()) << "the depth matters";
    }
}

TEST_F(SimulationRun, AsksOncePerSecondWhetherItIsDone) {
    std::vector<Duration> asked;
    for (int i = 0; i < 50; ++i) sim.after(scheduler, i * 100ms, [] {});
    const auto end = sim.run(Time{1h}, [&] {
        asked.push_back(elapsed());
        return asked.size() == 4;
    });
    EXPECT_EQ(end, Simulation::End::done);
    EXPECT_THAT(asked, ElementsAre(0s, 1s, 2s, 3s));
}

TEST_F(SimulationRun, EndsWhenTheTimeIsOverOrNothingIsLeft) {
    sim.after(scheduler, 1min, [] {});
    EXPECT_EQ(sim.run(Time{10s}), Simulation::End::limit);
    EXPECT_EQ(elapsed(), 10s);
    EXPECT_EQ(sim.run(Time{1h}), Simulation::End::idle);
    EXPECT_EQ(elapsed(), 1min);
}

TEST_F(SimulationRun, StopsAfterTheEventThatAsksForIt) {
    sim.after(scheduler, 1s, [&] { sim.stop("a rule objects"); });
    sim.after(scheduler, 2s, [] { FAIL(); });
    EXPECT_EQ(sim.run(Time{1h}), Simulation::End::stopped);
    EXPECT_EQ(sim.stop_reason(), "a rule objects");
    EXPECT_FALSE(sim.defect());
}

TEST_F(SimulationRun, AnInterruptEndsARunInWhichNoTimePasses) {
    bool interrupt = false;
    Simulation busy(testing::small_scenario(), 1, {.interrupt = [&interrupt] { return interrupt; }});
    std::uint64_t turns = 0;
    std::function<void()> again = [&] {
        // Without the interrupt the loop would go on for ever: the second bound makes that a failure and not a hang.
        if (++turns == 1000) interrupt = true;
        if (turns < 100'000) busy.after(scheduler, 0s, again);
    };
    busy.after(scheduler, 1s, again);
    EXPECT_EQ(busy.run(Time{1h}), Simulation::End::stopped);
    EXPECT_TRUE(busy.interrupted());
    EXPECT_LT(turns, 2000U);
    EXPECT_EQ(busy.now(), Time{1s});
}

engine::Task<void> break_a_promise(engine::Clock& clock) {
    co_await clock.sleep(3s);
    INVARIANT(false, "a promise");
}

TEST_F(SimulationRun, ReportsABrokenInvariantOfTheEngineWithItsNode) {
    engine::Scope scope(sim.executor(scheduler));
    scope.spawn(break_a_promise(sim.clock(scheduler)));
    EXPECT_EQ(sim.run(Time{1h}), Simulation::End::stopped);
    ASSERT_TRUE(sim.defect());
    EXPECT_TRUE(sim.defect()->invariant);
    EXPECT_EQ(sim.defect()->node, scheduler);
    EXPECT_EQ(sim.defect()->at, Time{3s});
    EXPECT_THAT(sim.defect()->what, ::testing::HasSubstr("a promise"));
}

TEST_F(SimulationRun, ReportsOtherExceptionsAsDefectsOfTheHarness) {
    sim.after(scheduler, 1s, [] { throw std::runtime_error("no such key"); });
    EXPECT_EQ(sim.run(Time{1h}), Simulation::End::stopped);
    ASSERT_TRUE(sim.defect());
    EXPECT_FALSE(sim.defect()->invariant);
    EXPECT_EQ(sim.defect()->what, "no such key");
}

TEST_F(SimulationRun, CountsMarksAndTellsOfThem) {
    sim.log(scheduler).reached("rare_branch");
    sim.log(other).reached("rare_branch");
    EXPECT_EQ(sim.marks().at("rare_branch"), 2U);
    EXPECT_EQ(events.count("reached scheduler-0"), 1);
}

TEST_F(SimulationRun, DropsLogMessagesUnlessAskedForThem) {
    EXPECT_FALSE(sim.log(scheduler).enabled(engine::LogLevel::error));
    Simulation verbose(testing::small_scenario(), 1, {.log_level = engine::LogLevel::warn});
    struct Keeper final : EventObserver {
        std::string text;
        void on_event(const fakes::Event& event, Time /*now*/) override {
            text += std::string(event.name) + ": " + std::string(event.payload);
        }
    } keeper;
    verbose.trace().add_observer(keeper);
    verbose.log(scheduler).event(engine::LogLevel::info, "quiet");
    verbose.log(scheduler).event(engine::LogLevel::warn, "loud", {{"job", "j"}, {"attempt", 3}, {"late", true}});
    EXPECT_EQ(keeper.text, "loud: job=j attempt=3 late=true");
}

TEST_F(SimulationRun, ContinuesTheEntropyOfANodeThroughACrash) {
    const std::uint64_t before = sim.entropy(scheduler).next();
    crash(scheduler);
    sim.lifecycle().restart(scheduler);
    EXPECT_NE(sim.entropy(scheduler).next(), before);
}

}  // namespace
}  // namespace lockstep::sim
