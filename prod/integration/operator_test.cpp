// What an operator meets in the first hour: whether it is ready, what it says of mistakes, and what is in the way at start.
#include <gtest/gtest.h>
#include <signal.h>

#include "engine/wire/messages.h"
#include "prod/integration/deployment_fixture.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

bool contains(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

/// The port in "admin listener port=4711".
int admin_port(Program& daemon) {
    const std::string words = "admin listener port=";
    if (!daemon.says(words)) return -1;
    const std::string output = daemon.output();
    return std::stoi(output.substr(output.find(words) + words.size()));
}

class OperatorTest : public DeploymentFixture {};

TEST_F(OperatorTest, ReadinessIsSaidBeforeTheStreamsExistAndWhileItDrains) {
    const fakes::testing::ReservedPort unused;
    Program alone =
        world->launch("lockstepd", {}, {{"NATS_URL", "nats://127.0.0.1:" + std::to_string(unused.number())}});
    const int early = admin_port(alone);
    ASSERT_GT(early, 0) << alone.output();
    EXPECT_TRUE(Deployment::until(
        [&] { return contains(Deployment::http_get(early, "/readyz"), "no connection to NATS"); }, 20s));
    EXPECT_TRUE(contains(Deployment::http_get(early, "/readyz"), "HTTP/1.1 503"));
    EXPECT_TRUE(contains(Deployment::http_get(early, "/health"), R"("ready":false)"));
    alone.kill();

    auto& scheduler = world->add_scheduler({{"LOCKSTEP_STORE_OP_TIMEOUT", "3s"}});
    const int port = admin_port(scheduler);
    EXPECT_TRUE(contains(Deployment::http_get(port, "/readyz"), "HTTP/1.1 200")) << scheduler.output();
    EXPECT_TRUE(contains(Deployment::http_get(port, "/health"), R"("ready":true)"));
    world->redis().freeze();  // what is in hand, and the release of what is held, keep it from ending
    cordum::agent::v1::BusPacket packet;
    packet.mutable_job_request()->set_job_id("in-hand");
    packet.mutable_job_request()->set_topic("job.default");
    world->publish_raw("sys.job.submit", packet.SerializeAsString());
    scheduler.signal(SIGTERM);
    EXPECT_TRUE(scheduler.says("draining"));
    EXPECT_TRUE(contains(Deployment::http_get(port, "/readyz"), R"({"ready":false,"reason":"draining"})"));
    world->redis().thaw();
    EXPECT_EQ(scheduler.wait(), 0);
}

TEST_F(OperatorTest, ATakenAdminAddressIsRefusedAtStart) {
    const int taken = admin_port(world->add_scheduler());
    Program second = world->launch("lockstepd", {}, {{"SCHEDULER_METRICS_ADDR", "127.0.0.1:" + std::to_string(taken)}});
    EXPECT_EQ(second.wait(), 2);
    EXPECT_TRUE(contains(second.output(), "SCHEDULER_METRICS_ADDR")) << second.output();
    EXPECT_TRUE(contains(second.output(), "Address already in use"));
}

// D-18
TEST_F(OperatorTest, TheCheckSaysWhatAStartWouldSay) {
    Program misspelt =
        world->launch("lockstepd", {"--check"}, {{"NATS_UROL", "x"}, {"NATS_PORT", "tcp://10.0.0.1:4222"}});
    EXPECT_EQ(misspelt.wait(), 0);
    EXPECT_TRUE(contains(misspelt.output(), "did you mean NATS_URL?")) << misspelt.output();
    EXPECT_FALSE(contains(misspelt.output(), "NATS_PORT"));
    Program senseless = world->launch("lockstepd", {"--check"}, {{"OUTPUT_POLICY_FAIL_MODE", "closd"}});
    EXPECT_EQ(senseless.wait(), 2);
    EXPECT_TRUE(contains(senseless.output(), "OUTPUT_POLICY_FAIL_MODE: expected open or closed")) << senseless.output();
}

TEST_F(OperatorTest, ARefusalOfRedisIsNotTakenForAJobThatIsNotThere) {
    world->redis_type({"SET job:meta:odd text"});
    for (const char* command : {"approve", "reject", "status"}) {
        const auto told = world->ctl({command, "odd"});
        EXPECT_EQ(told.exit_code, 1) << command;
        EXPECT_TRUE(contains(told.text, "WRONGTYPE")) << command << ": " << told.text;
    }
    EXPECT_EQ(world->ctl({"approve", "unheard-of"}).exit_code, 3);
}

}  // namespace
}  // namespace lockstep::prod::testing
