// The reference worker's reports, where the stream that keeps them is not there, and where another account has it.
#include <gtest/gtest.h>
#include <signal.h>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "prod/integration/deployment_fixture.h"
#include "prod/integration/nats_peer.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

std::string dispatch(const std::string& job) {
    cap::JobRequest request;
    request.set_job_id(job);
    request.set_topic("job.default");
    return engine::wire::serialise(engine::wire::make_packet(std::move(request), "a-trace", "somebody", {}));
}

class WorkerReportTest : public DeploymentFixture {};

TEST_F(WorkerReportTest, AResultIsRepeatedUntilAStreamHasIt) {
    Program& worker = world->add_worker("w1");
    NatsPeer peer(world->nats().port());
    peer.subscribe("sys.job.result");
    peer.publish("worker.w1.jobs", dispatch("a"));
    EXPECT_TRUE(Deployment::until(
        [&peer] {
            peer.settle();
            return peer.received().size() >= 2;
        },
        20s))
        << "nobody has kept it, and it was said " << peer.received().size() << " times";
    world->add_scheduler();  // makes the streams
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(20s), 0);
    EXPECT_EQ(worker.output().find("jobs given up"), std::string::npos) << worker.output();
}

TEST_F(WorkerReportTest, AResultThatAStreamHasIsSaidOnce) {
    world->add_scheduler();
    Program& worker = world->add_worker("w1");
    NatsPeer peer(world->nats().port());
    peer.subscribe("sys.job.result");
    ASSERT_EQ(world->ctl({"submit", "--topic", "job.default", "--id", "a"}).exit_code, 0);
    ASSERT_TRUE(world->all_end(1, 20s));
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(20s), 0);
    EXPECT_EQ(worker.output().find("jobs given up"), std::string::npos) << worker.output();
    peer.settle();
    EXPECT_EQ(peer.received().size(), 1U);
}

}  // namespace
}  // namespace lockstep::prod::testing
