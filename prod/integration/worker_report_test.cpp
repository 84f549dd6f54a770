// The reference worker's reports, where the stream that keeps them is not there, and where another account has it.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>

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
    EXPECT_EQ(worker.output().find("given up"), std::string::npos) << worker.output();
}

TEST_F(WorkerReportTest, AWorkerWithAListenerShowsHowLongItsLoopWasBusyAndWhetherItServes) {
    Program& worker = world->add_worker("w1", {"--listen", "127.0.0.1:0"});
    const std::string log = worker.output(), words = "listener port=";
    ASSERT_NE(log.find(words), std::string::npos) << log;
    const int port = std::stoi(log.substr(log.find(words) + words.size()));
    EXPECT_NE(Deployment::http_get(port, "/metrics").find("lockstep_loop_stall_seconds_count{pod=\"w1\"}"),
              std::string::npos);
    EXPECT_NE(Deployment::http_get(port, "/livez").find("200 OK"), std::string::npos);
    EXPECT_TRUE(Deployment::until(
        [port] { return Deployment::http_get(port, "/readyz").find("200 OK") != std::string::npos; }, 10s));
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
    EXPECT_EQ(worker.output().find("given up"), std::string::npos) << worker.output();
    peer.settle();
    EXPECT_EQ(peer.received().size(), 1U);
}

TEST_F(WorkerReportTest, WhatAWorkerCannotFinishWithinItsDrainIsReported) {
    world->add_scheduler();  // makes the streams
    Program& worker = world->add_worker("w1", {"--exec", "sleep 60", "--drain", "1s", "--max-parallel", "1"});
    NatsPeer peer(world->nats().port());
    peer.subscribe("sys.job.result");
    peer.publish("worker.w1.jobs", dispatch("a"));
    ASSERT_TRUE(Deployment::until([&] { return world->executions().contains("a"); }, 20s));
    peer.publish("worker.w1.jobs", dispatch("b"));
    peer.settle();
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(20s), 0) << worker.output();
    peer.settle();
    ASSERT_EQ(peer.received().size(), 2U) << worker.output();
    std::map<std::string, std::string> messages;
    for (const std::string& bytes : peer.received()) {
        const auto packet = engine::wire::decode(bytes);
        ASSERT_TRUE(packet);
        const cap::JobResult& result = packet->job_result();
        EXPECT_EQ(result.status(), cap::JOB_STATUS_FAILED_RETRYABLE);
        EXPECT_EQ(result.error_code(), "worker_stopped");
        messages[result.job_id()] = result.error_message();
    }
    EXPECT_NE(messages["a"].find("not done within 1s"), std::string::npos) << messages["a"];
    EXPECT_NE(messages["b"].find("before it began"), std::string::npos) << messages["b"];
}

TEST_F(WorkerReportTest, APlainJobOfAStoppedWorkerEndsFailedAtOnce) {
    world->add_scheduler();
    Program& worker = world->add_worker("w1", {"--exec", "sleep 60", "--drain", "1s"});
    ASSERT_EQ(world->ctl({"submit", "--id", "plain"}).exit_code, 0);
    ASSERT_TRUE(Deployment::until([&] { return world->executions().contains("plain"); }, 20s));
    worker.signal(SIGTERM);
    EXPECT_EQ(world->ctl({"status", "plain", "--wait", "--wait-for", "20s"}).exit_code, 4);
    EXPECT_EQ(world->states()["FAILED"], 1);
    EXPECT_EQ(worker.wait(20s), 0);
}

}  // namespace
}  // namespace lockstep::prod::testing
