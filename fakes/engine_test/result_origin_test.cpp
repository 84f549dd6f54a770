// Whose word counts about a job (D-05), and what a worker can say of itself.
#include <limits>

#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

namespace wire = engine::wire;

class ResultOrigin : public SchedulerTest {
protected:
    /// A result in that worker's name.
    Fate says(const std::string& worker, const std::string& job, cap::JobStatus status = cap::JOB_STATUS_SUCCEEDED) {
        cap::JobResult told = result_of(job, status);
        told.set_worker_id(worker);
        told.set_result_ptr("redis://res:forged");
        return result(told, ++sequence_);
    }
    double refused(const char* reason) { return metrics.value(Metric::results_refused, {reason}); }

private:
    std::uint64_t sequence_ = 100;
};

// D-05 (3)
TEST_F(ResultOrigin, OnlyTheWorkerThatAJobWasSentToEndsIt) {
    start();
    run_job("j1");
    for (const auto status : {cap::JOB_STATUS_SUCCEEDED, cap::JOB_STATUS_FAILED, cap::JOB_STATUS_FAILED_FATAL,
                              cap::JOB_STATUS_CANCELLED, cap::JOB_STATUS_TIMEOUT})
        EXPECT_TRUE(says("w2", "j1", status)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(field("j1", "result_ptr"), "");
    EXPECT_EQ(field("j1", "worker_id"), "");
    EXPECT_EQ(field("j1", "ls_result_first"), "") << "a refused result holds up no other";
    EXPECT_TRUE(dead_letters().empty());
    EXPECT_EQ(dead_letter_code("j1"), "");
    EXPECT_FALSE(locked("j1"));
    EXPECT_EQ(refused("other_worker"), 5);
    EXPECT_TRUE(says("w1", "j1")->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

// D-05 (2)
TEST_F(ResultOrigin, AJobThatWasNotSentOutIsEndedByNobody) {
    start();
    for (const char* waiting : {"PENDING", "APPROVAL_REQUIRED", "SCHEDULED"}) {
        const std::string job = std::string("job-") + waiting;
        run({"HSET", "job:meta:" + job, "state", waiting});
        for (const char* worker : {"w1", "w2", "cordum-scheduler"}) {
            EXPECT_TRUE(says(worker, job)->acked());
            EXPECT_TRUE(says(worker, job, cap::JOB_STATUS_FAILED)->acked());
        }
        EXPECT_EQ(state(job), waiting);
    }
    EXPECT_EQ(refused("not_dispatched"), 18);
    EXPECT_EQ(*run({"ZCARD", "dlq:index"}).integer(), 0);
}

TEST_F(ResultOrigin, AGateIsOpenedByNoMessage) {
    start();
    auto gate = request_for("gate");
    gate.set_topic("job.cordum.approval-gate");
    submit(gate);
    EXPECT_EQ(state("gate"), "APPROVAL_REQUIRED");
    EXPECT_TRUE(says("cordum-scheduler", "gate")->acked());
    EXPECT_EQ(state("gate"), "APPROVAL_REQUIRED");
}

// D-05 (1)
TEST_F(ResultOrigin, AResultMakesNoJobKnown) {
    start();
    EXPECT_TRUE(says("w1", "nobody", cap::JOB_STATUS_FAILED)->acked());
    EXPECT_EQ(state("nobody"), "");
    EXPECT_TRUE(says("elsewhere", "nobody", cap::JOB_STATUS_FAILED)->acked());
    EXPECT_EQ(*run({"EXISTS", "job:meta:nobody", "dlq:entry:nobody"}).integer(), 0);
    EXPECT_EQ(refused("unknown_job_known_worker"), 1) << "w1 is alive here";
    EXPECT_EQ(refused("unknown_job"), 1);
}

// D-05 (4): sent by a scheduler that writes no worker down, or to a topic.
TEST_F(ResultOrigin, WhereNobodyKnowsWhoHasTheJobAnyWorkerIsBelieved) {
    start();
    run({"HSET", "job:meta:j1", "state", "DISPATCHED", "topic", "job.default"});
    EXPECT_TRUE(says("anybody", "j1")->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(field("j1", "worker_id"), "anybody");
}

TEST_F(ResultOrigin, TheSwitchBelievesAnyWorkerOfAJobThatWasSentOut) {
    tunables.results_from_any_worker = true;
    start();
    run_job("j1");
    run({"HSET", "job:meta:j2", "state", "APPROVAL_REQUIRED"});
    EXPECT_TRUE(says("w2", "j2")->acked());
    EXPECT_EQ(state("j2"), "APPROVAL_REQUIRED");
    EXPECT_TRUE(says("w2", "j1")->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

TEST_F(ResultOrigin, NewsOfProgressMovesNothing) {
    start();
    run({"HSET", "job:meta:j1", "state", "PENDING"});
    for (const auto status : {cap::JOB_STATUS_RUNNING, cap::JOB_STATUS_DISPATCHED, cap::JOB_STATUS_PENDING})
        EXPECT_TRUE(says("w1", "j1", status)->acked());
    EXPECT_EQ(state("j1"), "PENDING");
}

TEST_F(ResultOrigin, WhoRepeatsHimselfDoesNotFillTheLog) {
    start();
    run_job("j1");
    const auto told = [this] {
        return std::ranges::count(log.messages(), "result refused: it is not from the worker that the job was sent to");
    };
    for (int i = 0; i < 50; ++i) says("w2", "j1");
    EXPECT_EQ(told(), 1);
    loop.run_for(1min);
    says("w2", "j1");
    EXPECT_EQ(told(), 2);
    EXPECT_EQ(refused("other_worker"), 51);
}

TEST_F(ResultOrigin, SwitchedOffAForgedResultEndsAJob) {
    more_config.mechanisms.switch_off(engine::Mechanism::result_origin);
    start();
    run({"HSET", "job:meta:j1", "state", "APPROVAL_REQUIRED"});
    EXPECT_TRUE(says("w2", "j1")->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

class HeartbeatsOutsideSense : public SchedulerTest {
protected:
    void beat(const std::string& worker, int active, float cpu = 0) {
        cap::Heartbeat heartbeat;
        heartbeat.set_worker_id(worker);
        heartbeat.set_pool("default");
        heartbeat.set_active_jobs(active);
        heartbeat.set_cpu_load(cpu);
        bus.tell("sys.heartbeat", wire::make_packet(std::move(heartbeat), "", worker, clock.now()));
    }
    double refused(const char* reason) { return metrics.value(Metric::heartbeats_refused, {reason}); }
};

TEST_F(HeartbeatsOutsideSense, AreCountedAndChangeNothing) {
    start();
    beat("ghost", -1000);
    beat("ghost", 0, -std::numeric_limits<float>::infinity());
    beat("ghost", 0, std::numeric_limits<float>::quiet_NaN());
    beat("w1", -5);
    beat("", 0);
    beat("a.b", 0);
    EXPECT_EQ(scheduler->workers().size(), 1u);
    EXPECT_EQ(refused("jobs"), 2);
    EXPECT_EQ(refused("load"), 2);
    EXPECT_EQ(refused("worker_id"), 2);
    run_job("j1");
    EXPECT_EQ(dispatches().at(0).subject, "worker.w1.jobs");
    EXPECT_EQ(std::ranges::count(log.messages(), "heartbeat ignored: it is outside sense"), 3) << "one of each reason";
}

TEST_F(HeartbeatsOutsideSense, TheLastSoundOneHoldsForItsTimeToLive) {
    start();
    loop.run_for(20s);
    beat("w1", -5);
    run_job("j1");
    loop.run_for(11s);
    EXPECT_EQ(submit("j2")->answer, DeliveryFate::Answer::nak) << "not a sign of life";
}

TEST_F(HeartbeatsOutsideSense, SwitchedOffTheyAreEverybodysFavourites) {
    more_config.mechanisms.switch_off(engine::Mechanism::heartbeat_bounds);
    start();
    beat("ghost", -1000);
    run_job("j1");
    EXPECT_EQ(dispatches().at(0).subject, "worker.ghost.jobs");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
