#include "sim/world/network.h"

#include <gmock/gmock.h>

#include <string>

#include "sim/testing/simulation_fixture.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

Scenario with_jitter() {
    Scenario scenario = testing::small_scenario();
    scenario.cluster.network_latency = {Distribution::Kind::uniform, 200us, 20ms, 0};
    return scenario;
}

class NetworkTest : public testing::SimulationTest {
protected:
    explicit NetworkTest(Scenario scenario = testing::small_scenario()) : SimulationTest(std::move(scenario)) {}

    testing::Listener listener;
    std::vector<std::string> arrived;
    std::uint64_t effective = 0;

    Action note(std::string text) {
        return [this, text = std::move(text)] { arrived.push_back(text); };
    }
    LinkFaults::Id cut(NodeId a, NodeId b, bool a_to_b = true, bool b_to_a = true) {
        LinkFault fault;
        fault.a.resize(sim.topology().size());
        fault.b.resize(sim.topology().size());
        fault.a[static_cast<std::size_t>(a.value)] = true;
        fault.b[static_cast<std::size_t>(b.value)] = true;
        fault.a_to_b = a_to_b;
        fault.b_to_a = b_to_a;
        fault.effective = &effective;
        return sim.network().links().add(std::move(fault));
    }
    void heal(LinkFaults::Id id) {
        sim.network().links().remove(id);
        sim.network().links_changed();
    }
};

class JitteryNetworkTest : public NetworkTest {
protected:
    JitteryNetworkTest() : NetworkTest(with_jitter()) {}
};

TEST_F(NetworkTest, ConnectsAfterOneRoundTrip) {
    Duration when{};
    sim.connect(scheduler, Topology::kRedis, "redis", listener, [&](auto connection) {
        EXPECT_NE(connection, nullptr);
        when = elapsed();
    });
    sim.run_for(1s);
    EXPECT_EQ(when, 2ms);
    ASSERT_EQ(server.accepted.size(), 1U);
    EXPECT_EQ(server.accepted[0].client, scheduler);
}

TEST_F(NetworkTest, RefusesWhereNobodyListens) {
    int refused = 0;
    const auto expect_none = [&](auto connection) { refused += connection == nullptr ? 1 : 0; };
    sim.connect(scheduler, Topology::kNats, "nats", listener, expect_none);
    crash(Topology::kRedis);
    sim.connect(scheduler, Topology::kRedis, "redis", listener, expect_none);
    sim.run_for(1s);
    EXPECT_EQ(refused, 2);
}

TEST_F(JitteryNetworkTest, DeliversInOrderWhateverTheLatency) {
    const auto connection = connect(scheduler, listener);
    sim.run_for(1s);
    std::vector<std::string> sent;
    for (int i = 0; i < 200; ++i) {
        sent.push_back(std::to_string(i));
        connection->send_to_server(note(sent.back()));
    }
    sim.run_for(1s);
    EXPECT_THAT(arrived, ElementsAreArray(sent));
}

TEST_F(NetworkTest, TellsTheServerOfAHangUpAfterWhatWasSent) {
    const auto connection = connect(scheduler, listener);
    connection->send_to_server(note("last words"));
    connection->close_from_client();
    connection->send_to_server(note("too late"));
    sim.run_for(1s);
    EXPECT_THAT(arrived, ElementsAre("last words"));
    EXPECT_EQ(server.accepted[0].listener->broken, 1);
    EXPECT_EQ(listener.broken, 0);
    EXPECT_EQ(sim.network().connections(), 0U);
}

TEST_F(NetworkTest, TellsTheClientWhenTheServerHangsUp) {
    const auto connection = connect(scheduler, listener);
    connection->send_to_server(note("lost"));  // arrives where nobody listens any more
    connection->send_to_client(note("answer"));
    connection->close_from_server();
    sim.run_for(1s);
    EXPECT_THAT(arrived, ElementsAre("answer"));
    EXPECT_EQ(listener.broken, 1);
    EXPECT_FALSE(connection->open());
}

TEST_F(NetworkTest, TellsTheSurvivorOfACrashOneLatencyLaterAfterWhatWasInFlight) {
    const auto connection = connect(scheduler, listener);
    connection->send_to_server(note("in flight"));
    crash(scheduler);
    EXPECT_EQ(server.accepted[0].listener->broken, 0);
    sim.run_for(1ms + 1ns);
    EXPECT_THAT(arrived, ElementsAre("in flight"));
    EXPECT_EQ(server.accepted[0].listener->broken, 1);
    EXPECT_EQ(listener.broken, 0);
    EXPECT_EQ(events.count("connection_broken redis"), 1);
}

TEST_F(NetworkTest, LosesWhatWasOnItsWayToTheCrashedNode) {
    const auto connection = connect(scheduler, listener);
    connection->send_to_client(note("nobody home"));
    crash(scheduler);
    sim.lifecycle().restart(scheduler);
    sim.run_for(1s);
    EXPECT_THAT(arrived, IsEmpty());
}

TEST_F(NetworkTest, KeepsWhatIsSentDuringAPartitionUntilItHeals) {
    const auto connection = connect(scheduler, listener);
    const auto id = cut(scheduler, Topology::kRedis);
    connection->send_to_server(note("1"));
    connection->send_to_server(note("2"));
    sim.run_for(1min);
    EXPECT_THAT(arrived, IsEmpty());
    EXPECT_EQ(effective, 2U);
    heal(id);
    sim.run_for(1s);
    EXPECT_THAT(arrived, ElementsAre("1", "2"));
}

TEST_F(NetworkTest, CutsOneDirectionAlone) {
    const auto connection = connect(scheduler, listener);
    cut(scheduler, Topology::kRedis, true, false);
    connection->send_to_server(note("there"));
    connection->send_to_client(note("back"));
    sim.run_for(1s);
    EXPECT_THAT(arrived, ElementsAre("back"));
}

TEST_F(NetworkTest, LetsConnectionAttemptsWaitForTheEndOfAPartition) {
    const auto id = cut(scheduler, Topology::kRedis);
    int connected = 0;
    sim.connect(scheduler, Topology::kRedis, "redis", listener, [&](auto c) { connected += c != nullptr ? 1 : 0; });
    sim.run_for(1h);
    EXPECT_EQ(connected, 0);
    heal(id);
    sim.run_for(1s);
    EXPECT_EQ(connected, 1);
}

TEST_F(NetworkTest, TellsOfACrashDuringAPartitionWhenItHeals) {
    const auto connection = connect(scheduler, listener);
    const auto id = cut(scheduler, Topology::kRedis);
    crash(scheduler);
    sim.run_for(1min);
    EXPECT_EQ(server.accepted[0].listener->broken, 0);
    heal(id);
    sim.run_for(1s);
    EXPECT_EQ(server.accepted[0].listener->broken, 1);
}

// Over many seeds every length of the tail occurs, and always a prefix arrives.
TEST(NetworkTails, ArriveInPartWhenTheConnectionIsClosedDuringAPartition) {
    std::set<std::size_t> lengths;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Simulation sim(testing::small_scenario(), seed, {});
        testing::AcceptingServer server;
        testing::Listener listener;
        sim.listen(Topology::kRedis, "redis", server);
        const NodeId client = sim.topology().find("scheduler-0");
        std::shared_ptr<fakes::Connection> connection;
        sim.connect(client, Topology::kRedis, "redis", listener, [&](auto made) { connection = made; });
        sim.run_for(1s);
        Fault partition;
        partition.what = faults::Partition{{.a = "scheduler-0", .b = "redis"}};
        partition.duration = 10s;
        partition.at = 1s;
        sim.fault_plan().add(partition);
        sim.run_for(1s);
        std::vector<int> arrived;
        for (int i = 0; i < 3; ++i) connection->send_to_server([&arrived, i] { arrived.push_back(i); });
        connection->close_from_client();
        sim.run_for(1min);
        for (std::size_t i = 0; i < arrived.size(); ++i) EXPECT_EQ(arrived[i], static_cast<int>(i));
        EXPECT_EQ(server.accepted[0].listener->broken, 1);
        lengths.insert(arrived.size());
    }
    EXPECT_THAT(lengths, ElementsAre(0, 1, 2, 3));
}

TEST_F(NetworkTest, KeepsBackWhatAPausedNodeSendsUntilItResumes) {
    const auto connection = connect(scheduler, listener);
    std::uint64_t held = 0;
    sim.lifecycle().pause(scheduler, held);
    connection->send_to_server(note("1"));
    connection->send_to_server(note("2"));
    sim.run_for(1min);
    EXPECT_THAT(arrived, IsEmpty());
    EXPECT_GE(held, 1U);
    sim.lifecycle().resume(scheduler, held);
    sim.run_for(1s);
    EXPECT_THAT(arrived, ElementsAre("1", "2"));
}

TEST_F(NetworkTest, NeverSendsWhatAPausedNodeHadNotSentWhenItCrashed) {
    const auto connection = connect(scheduler, listener);
    std::uint64_t held = 0;
    sim.lifecycle().pause(scheduler, held);
    connection->send_to_server(note("never"));
    connection->close_from_client();
    crash(scheduler);
    sim.run_for(1min);
    EXPECT_THAT(arrived, IsEmpty());
    EXPECT_EQ(server.accepted[0].listener->broken, 1);
    EXPECT_EQ(sim.network().connections(), 0U);
}

TEST_F(NetworkTest, RefusesAnAttemptThatWaitedAtAPausedServerWhichThenCrashed) {
    std::uint64_t held = 0;
    sim.lifecycle().pause(Topology::kRedis, held);
    int refused = 0;
    sim.connect(scheduler, Topology::kRedis, "redis", listener, [&](auto c) { refused += c == nullptr ? 1 : 0; });
    sim.run_for(1min);
    EXPECT_EQ(refused, 0);
    crash(Topology::kRedis);
    sim.run_for(1s);
    EXPECT_EQ(refused, 1);
}

TEST_F(NetworkTest, ForgetsTheAttemptsOfAClientThatCrashes) {
    int answers = 0;
    sim.connect(scheduler, Topology::kRedis, "redis", listener, [&](auto) { ++answers; });
    crash(scheduler);
    sim.run_for(1s);
    EXPECT_EQ(answers, 0);
    EXPECT_THAT(server.accepted, IsEmpty());
}

TEST_F(NetworkTest, SlowsAndRetransmitsOnFaultyLinks) {
    const auto connection = connect(scheduler, listener);
    LinkFault slow;
    slow.kind = LinkFault::Kind::slow;
    slow.a = slow.b = NodeSet(sim.topology().size(), true);
    slow.latency = Distribution::constant(300ms);
    slow.effective = &effective;
    fakes::KeyedRng draws(1, "link");
    slow.draws = &draws;
    const auto id = sim.network().links().add(slow);
    connection->send_to_server(note("slow"));
    sim.run_for(300ms);
    EXPECT_THAT(arrived, IsEmpty());
    sim.run_for(1ms);
    EXPECT_THAT(arrived, ElementsAre("slow"));
    sim.network().links().remove(id);

    slow.kind = LinkFault::Kind::lossy;
    slow.rate = 1.0;
    sim.network().links().add(slow);
    connection->send_to_server(note("lossy"));
    sim.run_for(25s);
    EXPECT_THAT(arrived, ElementsAre("slow"));
    sim.run_for(1s);
    EXPECT_THAT(arrived, ElementsAre("slow", "lossy"));
    EXPECT_EQ(effective, 2U);
}

TEST_F(NetworkTest, LeavesADeadConnectionWhenTheWorldCloses) {
    const auto connection = connect(scheduler, listener);
    sim.close();
    EXPECT_FALSE(connection->open());
    connection->send_to_server(note("nothing"));
    connection->close_from_client();
    EXPECT_EQ(listener.broken, 0);
}

}  // namespace
}  // namespace lockstep::sim
