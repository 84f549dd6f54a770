// What nobody moves on any more is taken up again or ended, and what a workflow had done is undone, on real servers.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "prod/integration/deployment_fixture.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

/// Jobs whose id begins with `bad` fail for good.
constexpr const char* kScript = R"(case "$CORDUM_JOB_ID" in bad*) exit 65;; esac; cat)";

class RecoveryTest : public DeploymentFixture {
protected:
    void submit_step(const std::string& id, std::vector<std::string> more = {}) {
        more.insert(more.begin(),
                    {"submit", "--id", id, "--workflow", "wf", "--label", "run_id=r1", "--wait", "--wait-for", "30s"});
        world->ctl(std::move(more));
    }
    /// How often compensations have been started: by job.
    std::map<std::string, int> compensations() const {
        auto started = world->executions();
        std::erase_if(started, [](const auto& entry) { return !entry.first.starts_with("comp-"); });
        return started;
    }
};

// SAGA-06
TEST_F(RecoveryTest, AStepThatFailsForGoodUndoesTheOnesBeforeIt) {
    world->add_scheduler();
    world->add_worker("w1", {"--exec", kScript});
    for (const char* id : {"book-flight", "book-hotel"})
        submit_step(id, {"--compensation", R"({"topic":"job.default","env":{"undo":"yes"}})"});
    EXPECT_EQ(world->states()["SUCCEEDED"], 2);
    submit_step("bad-payment");
    EXPECT_EQ(world->states()["FAILED"], 1);
    EXPECT_TRUE(Deployment::until([&] { return world->states()["SUCCEEDED"] == 4; }, 20s))
        << nlohmann::json(world->states()).dump();
    EXPECT_EQ(compensations().size(), 2U);
    for (const auto& [job, times] : compensations()) EXPECT_EQ(times, 1) << job;
    for (const char* keys : {"saga:*", "lockstep:saga:[0-9]*", "lockstep:saga:lock:*"})
        EXPECT_EQ(world->redis_keys(keys), 0) << keys;
}

TEST_F(RecoveryTest, ARollbackOutlivesTheReplicaThatOwedIt) {
    auto& victim = world->add_scheduler();
    world->add_worker("w1", {"--exec", kScript});
    for (int i = 0; i < 5; ++i)
        submit_step("step-" + std::to_string(i), {"--compensation", R"({"topic":"job.default"})"});
    ASSERT_EQ(world->states()["SUCCEEDED"], 5);
    world->ctl({"submit", "--id", "bad-one", "--workflow", "wf", "--label", "run_id=r1"});
    ASSERT_TRUE(Deployment::until([&] { return world->states()["FAILED"] == 1; }, 20s));
    victim.kill();  // in the middle of the rollback, or before it has begun
    world->redis_type({"DEL lockstep:saga:lock:7:default:r1"});  // its two minutes are over
    world->add_scheduler();
    // A compensation whose dispatch the victim had committed and not sent ends visibly, as any such job does.
    const auto ended = [&] { return world->states()["SUCCEEDED"] + world->states()["TIMEOUT"]; };
    EXPECT_TRUE(Deployment::until([&] { return ended() == 10; }, 60s)) << nlohmann::json(world->states()).dump();
    EXPECT_GE(compensations().size() + static_cast<std::size_t>(world->states()["TIMEOUT"]), 5U);
    for (const auto& [job, times] : compensations()) EXPECT_EQ(times, 1) << job;
}

// RECON-01, RECON-03
TEST_F(RecoveryTest, AJobWhoseWorkerDiedTimesOut) {
    std::ofstream(world->folder() / "timeouts.yaml")
        << "reconciler: {dispatch_timeout_seconds: 3, running_timeout_seconds: 3, scan_interval_seconds: 1}\n";
    world->add_scheduler();
    auto& worker = world->add_worker("w1", {"--exec", "sleep 60"});
    world->ctl({"submit", "--id", "J"});
    ASSERT_TRUE(Deployment::until([&] { return world->states()["RUNNING"] == 1; }, 10s));
    worker.kill();
    ASSERT_TRUE(Deployment::until([&] { return world->states()["TIMEOUT"] == 1; }, 30s));
    const auto letters = world->ctl_json({"dlq", "list"});
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].value("reason_code", ""), "timeout") << letters.dump();
    EXPECT_NE(letters[0].value("reason", "").find("RUNNING"), std::string::npos) << letters.dump();
}

// A killed process cannot be told from one that ended of what it handled. Policy answers nobody while jobs are in hand, so that each
// kill finds hundreds of them, and from the fourth on one that is handled alone.
TEST_F(RecoveryTest, FiveKillsWithHundredsOfJobsInHandSetNothingAside) {
    constexpr int kJobs = 200;
    world->environment["LOCKSTEP_SAFETY_TIMEOUT"] = "40s";
    world->environment["LOCKSTEP_JOB_LOCK_TTL"] = "60s";
    world->environment["LOCKSTEP_PENDING_AGE"] = "2m";
    world->environment["NATS_JS_ACK_WAIT"] = "9s";
    // Longer than a stored result of a killed replica may take to be heard.
    std::ofstream(world->folder() / "timeouts.yaml")
        << "reconciler: {dispatch_timeout_seconds: 40, running_timeout_seconds: 60, scan_interval_seconds: 1}\n";
    world->add_worker("w1");
    const auto in_hand = [&] { return world->redis_keys("cordum:scheduler:job:*"); };
    for (int kill = 1; kill <= 5; ++kill) {
        auto& victim = world->add_scheduler();
        // Its connection to the kernel is made by a first question.
        ASSERT_EQ(
            world->ctl({"submit", "--id", "probe-" + std::to_string(kill), "--wait", "--wait-for", "20s"}).exit_code,
            0);
        world->kernel().signal(SIGSTOP);
        if (kill == 1) ASSERT_EQ(world->ctl({"submit", "--count", std::to_string(kJobs)}).exit_code, 0);
        if (kill <= 3) {
            // Nearly all: those that one of the kills did not find in hand would not be handled alone by the fourth.
            EXPECT_TRUE(Deployment::until([&] { return in_hand() >= kJobs * 9 / 10; }, 40s))
                << in_hand() << ", kill " << kill;
        } else {
            EXPECT_TRUE(victim.says("handled alone", 40s)) << "kill " << kill;
        }
        victim.kill();
        // The life of the locks is over; the marks stay.
        world->redis_type({R"(EVAL "for _, k in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', k) end" 0 )"
                           "cordum:scheduler:job:*"});
        ASSERT_EQ(in_hand(), 0);
        world->kernel().signal(SIGCONT);
    }
    world->add_scheduler();
    EXPECT_TRUE(world->all_end(kJobs + 5, 60s));
    EXPECT_EQ(world->states()["SUCCEEDED"], kJobs + 5) << nlohmann::json(world->states()).dump();
    EXPECT_EQ(world->ctl_json({"dlq", "list"}).size(), 0U);
}

// REPLAY-01: the submitter wrote the job and died before it published it.
TEST_F(RecoveryTest, AJobWhoseSubmissionWasNeverPublishedRunsAllTheSame) {
    world->add_worker("w1");
    world->add_scheduler();
    world->redis_type({"HSET job:meta:orphan state PENDING updated_at 1700000000000000 topic job.default",
                       "ZADD job:index:pending 1700000000000000 orphan",
                       R"(SET job:req:orphan '{"jobId":"orphan","topic":"job.default"}')"});
    EXPECT_TRUE(Deployment::until([&] { return world->states()["SUCCEEDED"] == 1; }, 30s))
        << nlohmann::json(world->states()).dump();
    EXPECT_EQ(world->executions()["orphan"], 1);
}

TEST_F(RecoveryTest, AMistakeInACompensationIsSaidBeforeAnythingIsSubmitted) {
    const auto told = world->ctl({"submit", "--id", "J", "--compensation", R"({"topic":"job.default"})"});
    EXPECT_EQ(told.exit_code, 2);
    EXPECT_NE(told.text.find("--workflow"), std::string::npos) << told.text;
    EXPECT_EQ(world->ctl({"submit", "--id", "J", "--workflow", "w", "--compensation", "{"}).exit_code, 2);
    EXPECT_EQ(world->ctl({"submit", "--id", "J", "--workflow", "w", "--compensation", "{}"}).exit_code, 2);
    EXPECT_EQ(world->redis_keys("job:*"), 0);
}

}  // namespace
}  // namespace lockstep::prod::testing
