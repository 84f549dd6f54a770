#include "fakes/worker/worker.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "engine/wire/messages.h"
#include "fakes/kernel/test_actor_world.h"
#include "fakes/redis/direct.h"
#include "fakes/worker/test_bus.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
using engine::OutcomeKind;

constexpr NodeId kNode{3};

class SimulatedWorker : public ::testing::Test {
protected:
    void start(WorkerConfig config = {}) {
        config.id = "w-0";
        worker_.emplace(world_, kNode, world_.executor(), bus_, redis_, std::move(config), [this] { ++crashes_; });
        world_.run_for(1ms);
    }
    void start_ending(const char* outcome) {
        WorkerConfig config;
        config.outcomes = {{outcome, 1}};
        start(std::move(config));
    }
    void give(const char* job, std::map<std::string, std::string> env = {}) {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_topic("job.a");
        for (const auto& [key, value] : env) (*request.mutable_env())[key] = value;
        bus_.deliver("worker.w-0.jobs", std::move(request));
    }
    std::vector<cap::JobResult> results() {
        std::vector<cap::JobResult> found;
        for (const auto& message : bus_.on("sys.job.result")) found.push_back(message.packet.job_result());
        return found;
    }
    std::vector<cap::Heartbeat> beats() {
        std::vector<cap::Heartbeat> found;
        for (const auto& message : bus_.on("sys.heartbeat")) found.push_back(message.packet.heartbeat());
        return found;
    }

    testing::ActorWorld world_;
    testing::TestBus bus_;
    redis::DirectRedis redis_;
    int crashes_ = 0;
    std::optional<Worker> worker_;
};

TEST_F(SimulatedWorker, IntroducesItselfAndListensOnItsOwnSubject) {
    WorkerConfig config;
    config.capabilities = {"gpu"};
    start(std::move(config));
    const auto handshakes = bus_.on("sys.handshake");
    ASSERT_EQ(handshakes.size(), 1u);
    EXPECT_EQ(handshakes[0].packet.handshake().role(), cap::COMPONENT_ROLE_WORKER);
    EXPECT_EQ(handshakes[0].packet.handshake().component_id(), "w-0");
    EXPECT_TRUE(handshakes[0].packet.handshake().capabilities().at("gpu"));
    EXPECT_EQ(handshakes[0].packet.trace_id(), "");
    EXPECT_EQ(bus_.subscriptions(), std::vector<std::string>{"worker.w-0.jobs|worker.w-0.jobs"});
}

TEST_F(SimulatedWorker, SendsHeartbeatsAtItsInterval) {
    WorkerConfig config;
    config.pool = "p";
    config.region = "eu";
    config.labels = {{"zone", "a"}};
    start(std::move(config));
    give("j");
    world_.run_for(5s);
    ASSERT_EQ(beats().size(), 2u);
    EXPECT_EQ(beats()[0].pool(), "p");
    EXPECT_EQ(beats()[0].labels().at("zone"), "a");
    EXPECT_EQ(beats()[0].max_parallel_jobs(), 8);
    EXPECT_EQ(world_.of(EventKind::heartbeat).size(), 2u);
    EXPECT_EQ(world_.of(EventKind::heartbeat)[0].name, "w-0");
}

TEST_F(SimulatedWorker, AJobThatSucceedsHasItsResultStoredBeforeItIsTold) {
    start();
    give("j1", {{"SIM_OUTPUT", "forty-two"}});
    world_.run_for(999ms);
    EXPECT_TRUE(results().empty());
    EXPECT_EQ(worker_->active_jobs(), 1);
    world_.run_for(2ms);
    ASSERT_EQ(results().size(), 1u);
    EXPECT_EQ(results()[0].status(), cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(results()[0].result_ptr(), "redis://res:j1");
    EXPECT_EQ(results()[0].worker_id(), "w-0");
    EXPECT_EQ(results()[0].execution_ms(), 1000);
    EXPECT_EQ(redis_.run({"GET", "res:j1"}).text(), R"({"job_id":"j1","output":"forty-two","worker_id":"w-0"})");
    EXPECT_EQ(redis_.run({"TTL", "res:j1"}).integer_or(0), 86400);
    const auto message = bus_.on("sys.job.result").at(0);
    EXPECT_TRUE(message.core);
    EXPECT_EQ(message.message_id, "");
    EXPECT_EQ(message.packet.trace_id(), "trace");
    EXPECT_EQ(worker_->active_jobs(), 0);
}

TEST_F(SimulatedWorker, AJobCanAskForALongOutput) {
    start();
    give("j1", {{"SIM_OUTPUT", "long"}, {"SIM_OUTPUT_BYTES", "12"}});
    world_.run_for(2s);
    EXPECT_EQ(redis_.run({"GET", "res:j1"}).text(), R"({"job_id":"j1","output":"long........","worker_id":"w-0"})");
}

TEST_F(SimulatedWorker, TellsOfEveryStep) {
    start();
    give("j1");
    world_.run_for(2s);
    ASSERT_EQ(world_.of(EventKind::job_started).size(), 1u);
    EXPECT_EQ(world_.of(EventKind::job_started)[0].number, 1);
    EXPECT_EQ(world_.of(EventKind::job_started)[0].name, "w-0");
    EXPECT_EQ(world_.of(EventKind::result).at(0).to, "SUCCEEDED");
    ASSERT_EQ(world_.of(EventKind::job_finished).size(), 1u);
    EXPECT_TRUE(world_.of(EventKind::job_finished)[0].flag);
}

TEST_F(SimulatedWorker, ExecutesWhateverItReceivesAndCounts) {
    start();
    give("j1");
    give("j1");
    world_.run_for(2s);
    EXPECT_EQ(results().size(), 2u);
    EXPECT_EQ(world_.of(EventKind::job_started).at(1).number, 2);
    EXPECT_EQ(redis_.commands(), 2u + 0u);
}

TEST_F(SimulatedWorker, RunsNoMoreThanItsLimitAtOnce) {
    WorkerConfig config;
    config.max_parallel_jobs = 2;
    start(std::move(config));
    for (const char* job : {"a", "b", "c"}) give(job);
    EXPECT_EQ(worker_->active_jobs(), 2);
    EXPECT_EQ(worker_->waiting_jobs(), 1u);
    world_.run_for(1500ms);
    EXPECT_EQ(results().size(), 2u);
    world_.run_for(1s);
    ASSERT_EQ(results().size(), 3u);
    EXPECT_EQ(results()[2].job_id(), "c");
}

TEST_F(SimulatedWorker, FailuresCarryACode) {
    start_ending("FAILED_FATAL");
    give("j1");
    world_.run_for(2s);
    ASSERT_EQ(results().size(), 1u);
    EXPECT_EQ(results()[0].status(), cap::JOB_STATUS_FAILED_FATAL);
    EXPECT_EQ(results()[0].error_code(), "worker_error");
    EXPECT_EQ(results()[0].result_ptr(), "");
}

TEST_F(SimulatedWorker, AHangingJobKeepsItsPlaceForEver) {
    start_ending("hang");
    give("j1");
    world_.run_for(48h);
    EXPECT_TRUE(results().empty());
    EXPECT_EQ(worker_->active_jobs(), 1);
    EXPECT_EQ(beats().back().active_jobs(), 1);
}

TEST_F(SimulatedWorker, ACrashIsAskedForInsteadOfAResult) {
    start_ending("crash");
    give("j1");
    world_.run_for(2s);
    EXPECT_EQ(crashes_, 1);
    EXPECT_TRUE(results().empty());
    worker_.reset();
}

TEST_F(SimulatedWorker, AWorkerMayContradictItself) {
    start_ending("contradict");
    give("j1");
    world_.run_for(2s);
    ASSERT_EQ(results().size(), 2u);
    EXPECT_EQ(results()[0].status(), cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(results()[1].status(), cap::JOB_STATUS_FAILED);
}

TEST_F(SimulatedWorker, LateDuplicateEarlyAndProgressResults) {
    start_ending("late");
    give("j1");
    world_.run_for(15min);
    EXPECT_TRUE(results().empty());
    world_.run_for(2min);
    EXPECT_EQ(results().size(), 1u);

    give("j2", {{"SIM_OUTCOME", "duplicate"}});
    world_.run_for(2s);
    ASSERT_EQ(results().size(), 3u);
    EXPECT_EQ(results()[1].SerializeAsString(), results()[2].SerializeAsString());

    give("j3", {{"SIM_OUTCOME", "early"}});
    world_.run_for(0s);
    ASSERT_EQ(results().size(), 4u);
    EXPECT_EQ(results()[3].status(), cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(results()[3].result_ptr(), "");

    give("j4", {{"SIM_OUTCOME", "progress"}});
    world_.run_for(2s);
    ASSERT_EQ(results().size(), 6u);
    EXPECT_EQ(results()[4].status(), cap::JOB_STATUS_RUNNING);
    EXPECT_EQ(results()[5].status(), cap::JOB_STATUS_SUCCEEDED);
}

TEST_F(SimulatedWorker, AJobCanDirectItsOutcomeAndItsTime) {
    start();
    give("j1", {{"SIM_OUTCOME", "FAILED_RETRYABLE"}, {"SIM_SERVICE_MS", "5000"}});
    world_.run_for(4999ms);
    EXPECT_TRUE(results().empty());
    world_.run_for(2ms);
    EXPECT_EQ(results().at(0).status(), cap::JOB_STATUS_FAILED_RETRYABLE);
}

TEST_F(SimulatedWorker, AResultThatCannotBeStoredIsAFailure) {
    start();
    redis_.fault = [](const engine::RedisCommand&) { return CallFault::not_applied; };
    give("j1");
    world_.run_for(10s);
    ASSERT_EQ(results().size(), 1u);
    EXPECT_EQ(results()[0].status(), cap::JOB_STATUS_FAILED_RETRYABLE);
    EXPECT_EQ(results()[0].error_code(), "result_store_failed");
}

TEST_F(SimulatedWorker, AResultWaitsForTheConnection) {
    start();
    bus_.outcome = [](const std::string&) { return OutcomeKind::not_applied; };
    give("j1");
    world_.run_for(10s);
    EXPECT_TRUE(results().empty());
    bus_.outcome = nullptr;
    world_.run_for(1s);
    EXPECT_EQ(results().size(), 1u);
}

TEST_F(SimulatedWorker, AResultWithAnUnknownFateIsNotSentAgain) {
    start();
    bus_.outcome = [](const std::string&) { return OutcomeKind::unknown; };
    give("j1");
    world_.run_for(10s);
    EXPECT_EQ(results().size(), 1u);
    EXPECT_FALSE(world_.of(EventKind::job_finished).at(0).flag);
}

TEST_F(SimulatedWorker, ASilentWorkerWorksOn) {
    start();
    world_.silent = true;
    give("j1");
    world_.run_for(30s);
    EXPECT_EQ(beats().size(), 1u);
    EXPECT_EQ(results().size(), 1u);
}

TEST_F(SimulatedWorker, AZombieBeatsButDoesNotWork) {
    start();
    give("running");
    world_.run_for(500ms);
    world_.zombie = true;
    give("new");
    world_.run_for(20s);
    EXPECT_GE(beats().size(), 4u);
    EXPECT_TRUE(results().empty());
    EXPECT_EQ(world_.of(EventKind::job_started).size(), 1u);
    world_.zombie = false;
    world_.run_for(3s);
    EXPECT_EQ(results().size(), 2u);
}

TEST_F(SimulatedWorker, AnOverloadedWorkerSaysSo) {
    start();
    world_.overloaded = true;
    world_.run_for(5s);
    EXPECT_GE(beats().back().cpu_load(), 90.0F);
}

TEST_F(SimulatedWorker, CancellationsAreIgnoredUnlessListenedTo) {
    WorkerConfig config;
    config.listens_to_cancel = true;
    config.max_parallel_jobs = 1;
    config.outcomes = {{"hang", 1}};
    start(std::move(config));
    give("a");
    give("b");
    world_.run_for(1s);
    for (const char* job : {"b", "a"}) {
        cap::JobCancel cancel;
        cancel.set_job_id(job);
        bus_.deliver("sys.job.cancel", std::move(cancel));
    }
    world_.run_for(1s);
    ASSERT_EQ(results().size(), 2u);
    EXPECT_EQ(results()[0].job_id(), "a");
    EXPECT_EQ(results()[0].status(), cap::JOB_STATUS_CANCELLED);
    EXPECT_EQ(results()[1].job_id(), "b");
    EXPECT_EQ(world_.of(EventKind::job_started).size(), 1u);  // b never ran
    EXPECT_EQ(worker_->active_jobs(), 0);
}

TEST_F(SimulatedWorker, WhatIsCorruptIsDropped) {
    start();
    bus_.deliver_bytes("worker.w-0.jobs", std::string_view("\xff\xff\xff"));
    world_.run_for(2s);
    EXPECT_TRUE(results().empty());
}

TEST_F(SimulatedWorker, ADeadWorkerDoesNothingMore) {
    start();
    world_.kill_when = [](const Event& event) { return event.kind == EventKind::job_started; };
    give("j1");
    world_.run_for(10s);
    EXPECT_TRUE(results().empty());
}

TEST_F(SimulatedWorker, MayBeDestroyedAtAnyMoment) {
    for (engine::Duration at{}; at < 2s; at += 100ms) {
        start_ending("duplicate");
        for (const char* job : {"a", "b"}) give(job);
        world_.run_for(at);
        worker_.reset();
        world_.run_for(10ms);
    }
    EXPECT_TRUE(bus_.subscriptions().empty());
}

}  // namespace
}  // namespace lockstep::fakes
