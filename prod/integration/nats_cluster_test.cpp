// A cluster of three nats-servers with streams and consumers on each of them, which lose one server after the other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>

#include "engine/wire/subjects.h"
#include "prod/integration/deployment_fixture.h"
#include "prod/integration/nats_peer.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;
using fakes::testing::ReservedPort;
using fakes::testing::ServerProcess;

class NatsClusterTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Deployment::possible()) GTEST_SKIP() << "redis-server or nats-server is not installed";
        world = std::make_unique<Deployment>(Durability::every_write, member(0));
        for (std::size_t i = 1; i < routes.size(); ++i) others.push_back(std::make_unique<ServerProcess>(member(i)));
        world->environment["NATS_URL"] = fmt::format("nats://127.0.0.1:{},nats://127.0.0.1:{},nats://127.0.0.1:{}",
                                                     server(0).port(), server(1).port(), server(2).port());
        world->environment["NATS_JS_REPLICAS"] = "3";
        // Longer than a stream may be without a leader: results wait for one. A job whose result died with its server waits as long.
        std::ofstream(world->folder() / "timeouts.yaml")
            << "reconciler: {dispatch_timeout_seconds: 10, running_timeout_seconds: 30, scan_interval_seconds: 1}\n";
    }
    void TearDown() override {
        if (world && HasFailure()) std::fputs(world->logs().c_str(), stderr);
    }
    [[nodiscard]] ServerProcess::CommandLine member(std::size_t number) const {
        return [this, number](int port, const std::filesystem::path& at) {
            std::ofstream(at / "nats.conf")
                << fmt::format("server_name: n{}\ncluster {{ name: three, listen: \"127.0.0.1:{}\", routes: [\n",
                               number, routes[number].number())
                << fmt::format("nats://127.0.0.1:{}\nnats://127.0.0.1:{}\nnats://127.0.0.1:{}\n] }}\n",
                               routes[0].number(), routes[1].number(), routes[2].number());
            return std::vector<std::string>{*fakes::testing::find_program("nats-server"),
                                            "-a",
                                            "127.0.0.1",
                                            "-p",
                                            std::to_string(port),
                                            "-js",
                                            "-sd",
                                            at.string(),
                                            "-c",
                                            (at / "nats.conf").string()};
        };
    }
    ServerProcess& server(std::size_t number) { return number == 0 ? world->nats() : *others.at(number - 1); }
    /// Those that were acknowledged.
    void submit(int count) {
        for (int i = 0; i < count; ++i) {
            const std::string job = fmt::format("j{}", submitted++);
            if (world->ctl({"submit", "--topic", "job.default", "--id", job}).exit_code == 0) acknowledged.insert(job);
        }
    }
    bool all_have_ended() { return world->all_end(static_cast<int>(acknowledged.size()), 90s); }

    std::array<ReservedPort, 3> routes;
    std::unique_ptr<Deployment> world;
    std::vector<std::unique_ptr<ServerProcess>> others;
    int submitted = 0;
    std::set<std::string> acknowledged;
};

TEST_F(NatsClusterTest, LosesNothingAndRunsNothingTwiceWhileEachOfItsServersDies) {
    world->add_scheduler();
    world->add_scheduler();
    world->add_worker("w1");
    world->add_worker("w2");
    submit(5);
    ASSERT_TRUE(all_have_ended());
    for (std::size_t number = 0; number < routes.size(); ++number) {
        submit(5);
        server(number).kill();
        submit(5);
        ASSERT_TRUE(all_have_ended()) << "without server " << number;
        server(number).start();
    }
    submit(5);
    ASSERT_TRUE(all_have_ended());
    EXPECT_GE(acknowledged.size(), 30U);
    const auto executions = world->executions();
    for (const auto& [job, count] : executions) EXPECT_EQ(count, 1) << job;
    auto states = world->states();
    // What was sent while its worker had no connection is not sent again, and ends TIMEOUT (engine/delivery-semantics.md).
    EXPECT_LE(states["SUCCEEDED"], static_cast<int>(executions.size()));
    EXPECT_GE(states["SUCCEEDED"], static_cast<int>(acknowledged.size()) / 2);
    EXPECT_EQ(states["FAILED"], 0);
    EXPECT_EQ(world->redis_keys("lockstep:durable:*"), 2) << "who leads the durables of submissions and of results";
}

TEST_F(NatsClusterTest, WithoutAQuorumStreamsStandStillAndCoreMessagesPass) {
    world->add_scheduler();
    world->add_worker("w1");
    submit(5);
    ASSERT_TRUE(all_have_ended());
    ASSERT_EQ(acknowledged.size(), 5U);
    server(1).kill();
    server(2).kill();
    NatsPeer peer(server(0).port());
    peer.subscribe("sys.heartbeat");
    const auto told = world->ctl({"submit", "--topic", "job.default", "--id", "refused"});
    EXPECT_EQ(told.exit_code, 0) << "it is recorded, and a scheduler takes it up from there";
    EXPECT_THAT(told.text, ::testing::HasSubstr("refused"));
    peer.publish("sys.heartbeat", "passes");
    peer.settle();
    EXPECT_THAT(peer.received(), ::testing::Contains("passes"));

    server(1).start();
    server(2).start();
    // It may stand in the stream all the same; whoever sends it again under its id has it once.
    ASSERT_TRUE(Deployment::until(
        [&] { return world->ctl({"submit", "--topic", "job.default", "--id", "refused"}).exit_code == 0; }, 60s));
    acknowledged.insert("refused");
    ASSERT_TRUE(all_have_ended());
    for (const auto& [job, count] : world->executions()) EXPECT_EQ(count, 1) << job;
}

TEST_F(NatsClusterTest, AReplicaThatStartsBeforeTheClusterHasALeaderWaitsForIt) {
    server(1).kill();
    server(2).kill();
    Program scheduler = world->launch("lockstepd", {}, {});
    EXPECT_TRUE(scheduler.says("connected to NATS", 20s)) << scheduler.output();
    server(1).start();
    server(2).start();
    EXPECT_TRUE(scheduler.says(" ready instance=", 40s)) << scheduler.output();
}

TEST_F(NatsClusterTest, WhoComesToLeadADurableSaysSo) {
    NatsPeer peer(server(0).port());
    for (const auto subject : {engine::wire::kSubjectSubmit, engine::wire::kSubjectResult})
        peer.subscribe(engine::wire::leader_elected_subject(
            engine::wire::kStreamSys, engine::wire::durable_name(engine::wire::kQueueScheduler, subject)));
    world->add_scheduler();
    EXPECT_TRUE(Deployment::until(
        [&] {
            peer.settle();
            return peer.received().size() >= 2;
        },
        20s));
}

}  // namespace
}  // namespace lockstep::prod::testing
