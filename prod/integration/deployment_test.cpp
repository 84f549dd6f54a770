// Whole deployments, killed, stopped and restarted in mid-flight. Judged from outside: every job ends, none is started
// twice, and what did not succeed left a dead letter.
#include "prod/integration/deployment_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "engine/store/keys.h"
#include "engine/wire/messages.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

/// Whether a server on this port has been sent something that it has not read yet.
bool has_unread_bytes(int port) {
    std::ifstream table("/proc/net/tcp");
    std::string number, local, remote, state, queues, rest;
    while (table >> number >> local >> remote >> state >> queues && std::getline(table, rest)) {
        if (local.ends_with(fmt::format(":{:04X}", port)) && state == "01" && !queues.ends_with(":00000000"))
            return true;
    }
    return false;
}

class DeploymentTest : public DeploymentFixture {
protected:
    void submit(int count, const std::string& prefix = "j", std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"submit", "--count", std::to_string(count), "--id", prefix});
        const auto told = world->ctl(std::move(more));
        ASSERT_EQ(told.exit_code, 0) << told.text;
    }
    /// Every job ended; started at most once; succeeded, or is a dead letter that says why.
    void expect_sound(int count, std::chrono::seconds limit = 60s) {
        ASSERT_TRUE(world->all_end(count, limit)) << nlohmann::json(world->states()).dump();
        for (const auto& [job, times] : world->executions()) EXPECT_EQ(times, 1) << job;
        auto states = world->states();
        const auto dead = world->ctl_json({"dlq", "list", "--limit", "10000"});
        EXPECT_EQ(static_cast<int>(dead.size()), count - states["SUCCEEDED"]);
    }

    /// Waits until a worker has begun with one of the jobs.
    void await_work() {
        ASSERT_TRUE(Deployment::until([&] { return !world->executions().empty(); }, 30s));
    }
    /// Waits until the scheduler has noticed that the server is away; it comes back then.
    static void restart(fakes::testing::ServerProcess& server, Program& scheduler, const std::string& name) {
        server.kill();
        EXPECT_TRUE(scheduler.says("no connection to " + name)) << scheduler.output();
        server.start();
    }

    void expect_jobs_succeed(int count) {
        EXPECT_TRUE(Deployment::until([&] { return world->states()["SUCCEEDED"] == count; }, 30s))
            << nlohmann::json(world->states()).dump();
    }
};

TEST_F(DeploymentTest, EveryJobRunsOnceToItsEnd) {
    world->add_scheduler();
    world->add_scheduler();
    for (const char* id : {"w1", "w2", "w3"}) world->add_worker(id);
    submit(300);
    expect_sound(300);
    EXPECT_EQ(world->states()["SUCCEEDED"], 300);
    EXPECT_EQ(world->executions().size(), 300U);
}

TEST_F(DeploymentTest, OutputsAreWhatTheWorkersMade) {
    world->add_scheduler();
    world->add_worker("w1", {"--exec", "tr a-z A-Z"});
    EXPECT_EQ(world->ctl({"submit", "--id", "J", "--payload", "hello", "--wait", "--wait-for", "20s"}).exit_code, 0);
    EXPECT_EQ(world->ctl({"result", "J"}).text, "HELLO");
}

TEST_F(DeploymentTest, APayloadIsAnyBytesAndIdentifiersAreStoredTrimmed) {
    world->add_scheduler();
    world->add_worker("w1", {"--echo"});
    const std::string bytes("caf\xe9 \0\x1f\x8b \xff\n", 11);
    using Words = std::vector<std::string>;
    const auto file = world->folder() / "payload";
    std::ofstream(file, std::ios::binary) << bytes;
    for (const Words& more : {Words{}, Words{"--publish-only"}}) {
        const std::string job = more.empty() ? "J" : "P";
        Words line{"submit", "--id", " " + job + "\t", "--payload-file", file.string()};
        line.insert(line.end(), more.begin(), more.end());
        EXPECT_EQ(world->ctl(line).text, job + "\n");
        EXPECT_EQ(world->ctl({"status", job, "--wait", "--wait-for", "20s"}).exit_code, 0);
        EXPECT_EQ(world->ctl({"result", job}).text, bytes);
    }
    for (const Words& wrong : {Words{"--id", "d\xff"}, Words{"--tenant", "\xff"}, Words{"--label", "k=\xff"}}) {
        Words line{"submit", "--payload", "1"};
        line.insert(line.end(), wrong.begin(), wrong.end());
        const auto told = world->ctl(line);
        EXPECT_EQ(told.exit_code, 2);
        EXPECT_NE(told.text.find(wrong.front() + ": expected UTF-8"), std::string::npos) << told.text;
    }
    EXPECT_EQ(world->states()["PENDING"], 0);
}

TEST_F(DeploymentTest, AKilledReplicaLosesNothing) {
    auto& victim = world->add_scheduler();
    world->add_scheduler();
    for (const char* id : {"w1", "w2"}) world->add_worker(id);
    submit(400);
    await_work();
    victim.kill();
    expect_sound(400);
    EXPECT_GT(world->states()["SUCCEEDED"], 350);
}

TEST_F(DeploymentTest, AThousandJobsSurviveTheKillOfAReplica) {
    auto& victim = world->add_scheduler();
    world->add_scheduler();
    for (const char* id : {"w1", "w2", "w3"}) world->add_worker(id);
    submit(1000);
    ASSERT_TRUE(Deployment::until([&] { return world->states()["SUCCEEDED"] >= 100; }, 30s));
    victim.kill();
    expect_sound(1000, 120s);
    // What did not run says so: it timed out, and `expect_sound` has counted its dead letter.
    auto states = world->states();
    EXPECT_EQ(states["SUCCEEDED"] + states["TIMEOUT"], 1000) << nlohmann::json(states).dump();
    EXPECT_GT(states["SUCCEEDED"], 900);
    // A lock lives for three seconds here: none of them outlives that.
    EXPECT_TRUE(Deployment::until([&] { return world->redis_keys("cordum:scheduler:job:*") == 0; }, 10s));
}

TEST_F(DeploymentTest, ACorruptPacketEndsInTheDeadLetterAndHoldsNothingUp) {
    auto& scheduler = world->add_scheduler();
    world->add_worker("w1");
    world->publish_raw("sys.job.submit", "\xff\xfe this is no packet");
    submit(50);
    expect_jobs_succeed(50);
    ASSERT_TRUE(Deployment::until([&] { return !world->ctl_json({"dlq", "list", "--undecodable"}).empty(); }, 60s));
    const auto letters = world->ctl_json({"dlq", "list", "--undecodable"});
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].value("reason_code", ""), "poison_message") << letters.dump();
    EXPECT_FALSE(scheduler.wait(0ms)) << "the scheduler has ended";
}

// D-19. Another scheduler sends jobs to the same worker as if no job waited, and holds the locks of the ticks that it knows.
TEST_F(DeploymentTest, ABurstWaitsForSlotsBesideASchedulerThatIgnoresTheQueues) {
    for (const auto lock : {engine::keys::kReplayerLock, engine::keys::kReconcilerLock})
        world->redis_set(std::string(lock), "another");
    world->add_scheduler();
    world->add_scheduler();
    world->add_worker("w1", {"--service-time", "200ms", "--max-parallel", "8", "--heartbeat", "1s"});
    submit(400);
    await_work();
    for (int i = 0; i < 16; ++i) {
        cordum::agent::v1::BusPacket packet;
        packet.set_sender_id("another");
        packet.mutable_job_request()->set_job_id(fmt::format("theirs-{}", i));
        packet.mutable_job_request()->set_topic("job.default");
        world->publish_raw("worker.w1.jobs", packet.SerializeAsString());
    }
    const auto it_waits = [&] {
        const auto why = world->ctl({"why", "j-399"});
        return why.text.find("waits for capacity of pool default, at about position") != std::string::npos;
    };
    EXPECT_TRUE(Deployment::until(it_waits, 10s)) << world->ctl({"why", "j-399"}).text;
    expect_sound(400);
    EXPECT_EQ(world->states()["SUCCEEDED"], 400) << nlohmann::json(world->states()).dump();
    EXPECT_EQ(world->executions().size(), 416U);
}

TEST_F(DeploymentTest, TheOnlyReplicaIsReplacedAfterACrash) {
    auto& victim = world->add_scheduler();
    world->add_worker("w1");
    submit(200);
    await_work();
    victim.kill();
    submit(50, "later");
    world->add_scheduler();
    expect_sound(250);
}

TEST_F(DeploymentTest, ARestartOfNatsLosesNothing) {
    auto& scheduler = world->add_scheduler();
    world->add_worker("w1");
    submit(200);
    restart(world->nats(), scheduler, "NATS");
    submit(50, "later");
    expect_sound(250, 90s);
}

TEST_F(DeploymentTest, ARestartOfRedisLosesNothing) {
    auto& scheduler = world->add_scheduler();
    world->add_worker("w1");
    submit(200);
    restart(world->redis(), scheduler, "Redis");
    submit(50, "later");
    expect_sound(250, 90s);
}

// As scenarios/both-worlds/jobs-outlast-redis.json has it in simulation: each try waits as long as a call may take.
TEST_F(DeploymentTest, AJobThatArrivesWhileRedisIsAwayIsHandedBackAHandfulOfTimes) {
    constexpr auto kCallMost = 500ms;
    auto& scheduler =
        world->add_scheduler({{"LOCKSTEP_STORE_OP_TIMEOUT", "500ms"}, {"LOCKSTEP_RETRY_DELAY_STORE", "250ms"}});
    world->add_worker("w1");
    world->redis().kill();
    cordum::agent::v1::BusPacket packet;
    packet.set_trace_id("t");
    packet.set_sender_id("test");
    packet.mutable_job_request()->set_job_id("patient");
    packet.mutable_job_request()->set_topic("job.default");
    const auto began = std::chrono::steady_clock::now();
    world->publish_raw("sys.job.submit", packet.SerializeAsString());
    const auto handed_back = [&scheduler] {
        const std::string log = scheduler.output();
        int times = 0;
        for (auto at = log.find("state read failed"); at != std::string::npos;
             at = log.find("state read failed", at + 1))
            ++times;
        return times;
    };
    ASSERT_TRUE(Deployment::until([&] { return handed_back() >= 3; }, 60s)) << scheduler.output();
    // The first may find a connection that breaks. Tries that all failed at once would come every quarter of a second. A slow
    // machine makes fewer, never more.
    const int times = handed_back();
    EXPECT_LE((times - 1) * kCallMost, std::chrono::steady_clock::now() - began);
    world->redis().start();
    ASSERT_TRUE(world->all_end(1, 60s));
    EXPECT_EQ(world->states()["SUCCEEDED"], 1);
}

TEST_F(DeploymentTest, AFrozenRedisDelaysAndLosesNothing) {
    auto& scheduler = world->add_scheduler();
    world->add_worker("w1");
    submit(200);
    world->redis().freeze();
    // A call and then a connection have gone unanswered by now, for longer than a lock lives.
    EXPECT_TRUE(scheduler.says("no answer to an attempt to connect")) << scheduler.output();
    world->redis().thaw();
    expect_sound(200, 90s);
}

TEST_F(DeploymentTest, JobsWaitForAKernelThatIsAway) {
    world->stop_kernel();
    world->add_scheduler();
    world->add_worker("w1");
    submit(20);
    std::vector<std::string> ask{"status"};
    for (int i = 0; i < 20; ++i) ask.push_back("j-" + std::to_string(i));
    const auto all_were_tried = [&] {
        const auto jobs = world->ctl_json(ask);
        return jobs.is_array() && std::ranges::all_of(jobs, [](const auto& job) {
                   return job.value("safety_decision", "") == "UNAVAILABLE";
               });
    };
    EXPECT_TRUE(Deployment::until(all_were_tried, 30s)) << world->ctl(ask).text;
    EXPECT_EQ(world->executions().size(), 0U);
    world->start_kernel();
    expect_sound(20);
    EXPECT_EQ(world->states()["SUCCEEDED"], 20);
}

TEST_F(DeploymentTest, StoppingFinishesWhatIsInFlightAndLeavesNoLock) {
    auto& scheduler = world->add_scheduler();
    auto& worker = world->add_worker("w1", {"--service-time", "200ms"});
    submit(40);
    await_work();
    scheduler.signal(SIGTERM);
    EXPECT_EQ(scheduler.wait(15s), 0);
    EXPECT_NE(scheduler.output().find("stopped"), std::string::npos);
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(15s), 0);
    // The next ones find everything as it should be, at once: no lock has to expire first.
    world->add_scheduler();
    world->add_worker("w2");
    expect_sound(40);
}

TEST_F(DeploymentTest, AnApprovalLetsAJobRunAndARejectionEndsIt) {
    world->add_scheduler();
    world->add_worker("d1", {"--pool", "deploy", "--capability", "kubectl", "--echo"});
    for (const char* id : {"yes", "no"}) world->ctl({"submit", "--id", id, "--topic", "job.deploy"});
    ASSERT_TRUE(Deployment::until([&] { return world->states()["APPROVAL_REQUIRED"] == 2; }, 10s));
    EXPECT_EQ(world->ctl({"approve", "yes", "--reason", "fine"}).text, "yes approved\n");
    EXPECT_EQ(world->ctl({"status", "yes", "--wait", "--wait-for", "20s"}).exit_code, 0);
    EXPECT_EQ(world->ctl({"reject", "no", "--reason", "not now"}).exit_code, 0);
    EXPECT_EQ(world->states()["DENIED"], 1);
    EXPECT_EQ(world->ctl({"approve", "no"}).exit_code, 1);
    EXPECT_EQ(world->executions().size(), 1U);
}

TEST_F(DeploymentTest, AnApprovalSaysWhereItDoesNotCoverTheInput) {
    world->add_scheduler();
    world->redis_set("job:req:far", R"({"jobId":"far","topic":"job.deploy","contextPtr":"s3://bucket/x"})");
    world->redis_type({"HSET job:meta:far state APPROVAL_REQUIRED safety_decision REQUIRE_APPROVAL"});
    const auto told = world->ctl({"approve", "far"});
    EXPECT_EQ(told.exit_code, 0);
    EXPECT_NE(told.text.find("the input of job far lies at s3://bucket/x, and the approval does not cover it"),
              std::string::npos)
        << told.text;
}

TEST_F(DeploymentTest, ACancellationStopsTheWork) {
    world->add_scheduler();
    world->add_worker("w1", {"--exec", "sleep 60"});
    world->ctl({"submit", "--id", "long"});
    ASSERT_TRUE(Deployment::until([&] { return world->states()["RUNNING"] == 1; }, 10s));
    EXPECT_EQ(world->ctl({"cancel", "long", "--reason", "changed my mind"}).exit_code, 0);
    EXPECT_EQ(world->states()["CANCELLED"], 1);
    EXPECT_EQ(world->ctl({"cancel", "nobody"}).exit_code, 3);
}

TEST_F(DeploymentTest, ADeadLetterCanBeTriedAgain) {
    world->add_scheduler();
    auto& broken = world->add_worker("w1", {"--exec", "exit 3"});
    EXPECT_EQ(world->ctl({"submit", "--id", "J", "--payload", "in", "--wait", "--wait-for", "20s"}).exit_code, 4);
    ASSERT_EQ(world->ctl_json({"dlq", "list"}).size(), 1U);
    broken.signal(SIGTERM);
    broken.wait();
    world->add_worker("w2", {"--echo"});
    const auto again = world->ctl_json({"dlq", "retry", "J"});
    const std::string job = again.value("job_id", "");
    EXPECT_TRUE(job.starts_with("J-retry-")) << again.dump();
    EXPECT_EQ(world->ctl({"status", job, "--wait", "--wait-for", "40s"}).exit_code, 0);
    EXPECT_EQ(world->ctl({"result", job}).text, "in");
    EXPECT_EQ(world->ctl_json({"dlq", "list"}).size(), 0U);
}

TEST_F(DeploymentTest, AnIdempotencyKeySubmitsOnce) {
    world->add_scheduler();
    world->add_worker("w1");
    world->ctl({"submit", "--id", "first", "--idempotency-key", "k"});
    EXPECT_EQ(world->ctl_json({"submit", "--id", "second", "--idempotency-key", "k"})["job_id"], "first");
    EXPECT_TRUE(world->all_end(1, 20s));
    EXPECT_EQ(world->executions().size(), 1U);
}

// D-34: tenant a:b with key c, and tenant a with key b:c, have one name in Redis.
TEST_F(DeploymentTest, AKeyThatAnotherTenantsKeyIsNamedLikeIsAnErrorAndNoAnswer) {
    world->ctl({"submit", "--id", "theirs", "--tenant", "a:b", "--idempotency-key", "c"});
    const auto mine = world->ctl({"submit", "--id", "mine", "--tenant", "a", "--idempotency-key", "b:c"});
    EXPECT_EQ(mine.exit_code, 1);
    EXPECT_NE(mine.text.find("choose another --idempotency-key"), std::string::npos) << mine.text;
    EXPECT_EQ(world->ctl({"status", "mine"}).exit_code, 3);
    EXPECT_EQ(world->redis_get(engine::keys::idempotency("a:b", "c")), "theirs");
    const auto by_id = world->ctl({"submit", "--id", "theirs", "--tenant", "a"});
    EXPECT_EQ(by_id.exit_code, 1);
    EXPECT_NE(by_id.text.find("choose another --id"), std::string::npos) << by_id.text;
    world->redis_type({"HDEL job:meta:theirs tenant idempotency_key"});  // a gateway writes them after the state
    EXPECT_EQ(world->ctl_json({"submit", "--tenant", "a", "--idempotency-key", "b:c"})["job_id"], "theirs");
}

// D-35
TEST_F(DeploymentTest, AnEmptyRedisBesideDurablesOfADeploymentIsRefusedUntilItIsAdopted) {
    Program& first = world->add_scheduler();
    ASSERT_TRUE(Deployment::until([&] { return !world->redis_get("lockstep:deployment").empty(); }, 20s));
    const std::string id = world->redis_get("lockstep:deployment");
    first.kill();
    world->redis_type({"FLUSHALL"});
    Program refused = world->launch("lockstepd", {});
    EXPECT_EQ(refused.wait(20s), 1);
    EXPECT_NE(refused.output().find("lockstepctl consumers adopt"), std::string::npos) << refused.output();
    EXPECT_EQ(world->ctl({"consumers", "adopt", "--dry-run"}).exit_code, 0);
    EXPECT_EQ(world->redis_get("lockstep:deployment"), "");
    EXPECT_EQ(world->ctl({"consumers", "adopt"}).exit_code, 0);
    EXPECT_EQ(world->redis_get("lockstep:deployment"), id);
    world->add_scheduler();

    world->redis_type({"SET lockstep:deployment another"});
    const auto two = world->ctl({"consumers", "adopt"});
    EXPECT_EQ(two.exit_code, 1);
    EXPECT_NE(two.text.find("belongs to deployment " + id), std::string::npos) << two.text;
    EXPECT_EQ(world->ctl({"consumers", "adopt", "--replace"}).exit_code, 0);
    EXPECT_EQ(world->ctl_json({"consumers", "adopt"}).at(1).value("before", ""), "another");
}

// Who submits may die, or lose Redis, between the reservation of the key and all else.
TEST_F(DeploymentTest, AKeyThatWasReservedForAJobThatIsNotThereIsStillItsOwn) {
    world->add_scheduler();
    world->add_worker("w1");
    world->redis_set(engine::keys::idempotency("default", "k"), "j");
    EXPECT_FALSE(world->ctl_json({"submit", "--id", "j", "--idempotency-key", "k"})["existing"]);
    EXPECT_TRUE(world->all_end(1, 20s));
    EXPECT_EQ(world->executions()["j"], 1);
}

// It may have been approved.
TEST_F(DeploymentTest, AnInputThatIsThereIsNeverWrittenOver) {
    world->add_scheduler();
    using Words = std::vector<std::string>;
    for (const Words& more : {Words{}, Words{"--publish-only"}, Words{"--idempotency-key", "k"}}) {
        const std::string job = "J" + std::to_string(more.size());
        world->redis_set("ctx:" + job, "approved");
        const auto submit = [&](const std::string& payload) {
            Words line{"submit", "--id", job, "--payload", payload};
            line.insert(line.end(), more.begin(), more.end());
            return world->ctl(line);
        };
        const auto refused = submit("another");
        EXPECT_EQ(refused.exit_code, 1);
        EXPECT_NE(refused.text.find("ctx:" + job + " is there already and holds another input"), std::string::npos);
        EXPECT_EQ(world->redis_get("ctx:" + job), "approved");
        EXPECT_EQ(world->redis_keys("job:meta:" + job), 0);
        const auto same = submit("approved");
        EXPECT_EQ(same.exit_code, 0) << same.text;
    }
}

// D-26: a gateway reserves a key before it records the job, and a record lives for less long than its key.
TEST_F(DeploymentTest, AKeyOfAJobWithoutARecordIsFreeOnlyAtAnAgeAtWhichItCannotBeInUse) {
    world->add_scheduler();
    world->add_worker("w1");
    const auto key_of_age = [&](std::chrono::seconds age) {
        const auto left = std::chrono::seconds(90 * 24h) - age;
        world->redis_type(
            {"SET " + engine::keys::idempotency("default", "k") + " ghost EX " + std::to_string(left.count())});
    };
    key_of_age(5s);
    const auto young = world->ctl({"submit", "--id", "j", "--idempotency-key", "k"});
    EXPECT_EQ(young.exit_code, 1);
    EXPECT_NE(young.text.find("for job ghost, which is not recorded yet"), std::string::npos) << young.text;
    EXPECT_NE(young.text.find("Try again in "), std::string::npos) << young.text;
    EXPECT_EQ(world->ctl({"status", "j"}).exit_code, 3);

    key_of_age(24h * 8);
    const auto old = world->ctl({"submit", "--id", "j", "--idempotency-key", "k"});
    EXPECT_EQ(old.exit_code, 0);
    EXPECT_NE(old.text.find("ghost (submitted 8d00h ago under this idempotency key; its record has expired)"),
              std::string::npos)
        << old.text;
    EXPECT_EQ(world->ctl({"submit", "--id", "j", "--idempotency-key", "k", "--wait"}).exit_code, 3);

    key_of_age(10min);
    const auto free = world->ctl({"submit", "--id", "j", "--idempotency-key", "k"});
    EXPECT_EQ(free.exit_code, 0);
    EXPECT_NE(free.text.find("j (the idempotency key was reserved 10m00s ago for job ghost, which was never recorded)"),
              std::string::npos)
        << free.text;
    EXPECT_EQ(world->redis_get(engine::keys::idempotency("default", "k")), "j");
    EXPECT_TRUE(world->all_end(1, 20s));
    EXPECT_EQ(world->ctl_json({"submit", "--idempotency-key", "k"})["job_id"], "j");
}

// D-26
TEST_F(DeploymentTest, ASubmissionThatCannotBeRecordedLeavesItsKeyFreeAndNoHalfOfARecord) {
    world->add_scheduler();
    world->add_worker("w1");
    world->redis_type({"SET job:meta:first taken"});  // where the job's hash belongs
    EXPECT_EQ(world->ctl({"submit", "--id", "first", "--idempotency-key", "k"}).exit_code, 1);
    EXPECT_EQ(world->redis_get(engine::keys::idempotency("default", "k")), "");
    EXPECT_EQ(world->redis_keys("job:req:first"), 0);
    world->redis_type({"SET job:recent taken"});  // where a list for people belongs
    const auto second = world->ctl_json({"submit", "--id", "second", "--idempotency-key", "k"});
    EXPECT_EQ(second["job_id"], "second") << second;
    EXPECT_EQ(world->ctl({"status", "second", "--wait", "--wait-for", "20s"}).exit_code, 0);
}

TEST_F(DeploymentTest, AManyfoldSubmissionSaysHowManyJobsAreStoredAndOfHowManyNobodyKnows) {
    Program& scheduler = world->add_scheduler();
    Program& worker = world->add_worker("w1", {"--service-time", "1ms", "--max-parallel", "100"});
    const auto whole = world->ctl_json({"submit", "--id", "a", "--count", "50"});
    EXPECT_EQ(whole["submitted"], 50) << whole;
    EXPECT_EQ(whole["unknown"], 0) << whole;
    const auto again = world->ctl_json({"submit", "--id", "a", "--count", "50"});
    EXPECT_EQ(again["submitted"], 50) << again;
    ASSERT_TRUE(world->all_end(50, 40s));

    // From here on only the submission speaks to Redis.
    worker.kill();
    scheduler.kill();
    Program many = world->launch("lockstepctl", {"submit", "--id", "b", "--count", "100000", "--rate", "200"});
    ASSERT_TRUE(Deployment::until([&] { return world->redis_keys("job:req:b-*") > 20; }, 20s));
    world->redis().freeze();  // what it is told from now on may be done or not
    ASSERT_TRUE(Deployment::until([&] { return has_unread_bytes(world->redis().port()); }, 20s));
    many.signal(SIGINT);
    EXPECT_EQ(many.wait(40s), 130);
    world->redis().thaw();
    const std::string said = many.output();
    const auto number_before = [&](const std::string& words) {
        const auto at = said.find(words);
        if (at == std::string::npos) return -1;
        const auto begin = said.find_last_not_of("0123456789", at - 1) + 1;
        return std::stoi("0" + said.substr(begin, at - begin));
    };
    const int stored = number_before(" are stored");
    const auto of = said.find("and for ");
    ASSERT_NE(of, std::string::npos) << said;
    const int unknown = std::stoi(said.substr(of + 8));
    EXPECT_GT(unknown, 0) << said;
    EXPECT_EQ(stored + unknown + number_before(" are not,"), 100000) << said;
    const auto there = [&] { return world->redis_keys("job:req:b-*"); };
    EXPECT_TRUE(Deployment::until([&] { return there() >= stored; }, 20s)) << said;
    EXPECT_LE(there(), stored + unknown) << said;
}

// Who is told that a submission failed tries it again, and it may have arrived.
TEST_F(DeploymentTest, ASubmissionThatIsRepeatedUnderItsIdRunsOnce) {
    world->add_scheduler();
    EXPECT_FALSE(world->ctl_json({"submit", "--id", "j"})["existing"]);
    EXPECT_TRUE(world->ctl_json({"submit", "--id", "j"})["existing"]) << "it waits for a worker";
    world->add_worker("w1");
    ASSERT_TRUE(world->all_end(1, 20s));
    const auto again = world->ctl({"submit", "--id", "j"});
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_NE(again.text.find("submitted earlier under this id"), std::string::npos) << again.text;
    EXPECT_EQ(world->states()["SUCCEEDED"], 1) << "its state is not written over";
    world->ctl({"submit", "--id", "last"});
    ASSERT_TRUE(world->all_end(2, 20s));
    EXPECT_EQ(world->executions()["j"], 1);
}

TEST_F(DeploymentTest, AnUnusableConfigurationSaysWhatToDo) {
    Program wrong =
        world->launch("lockstepd", {}, {{"LOCKSTEP_MAX_INFLIGHT", "3"}, {"POOL_CONFIG_PATH", "/nowhere/pools.yaml"}});
    EXPECT_EQ(wrong.wait(), 2);
    EXPECT_NE(wrong.output().find("did you mean LOCKSTEP_MAX_IN_FLIGHT?"), std::string::npos) << wrong.output();
    Program no_pools = world->launch("lockstepd", {}, {{"POOL_CONFIG_PATH", "/nowhere/pools.yaml"}});
    EXPECT_EQ(no_pools.wait(), 2);
    EXPECT_NE(no_pools.output().find("cannot read /nowhere/pools.yaml"), std::string::npos) << no_pools.output();
}

TEST_F(DeploymentTest, AMissingServerSaysWhatToDo) {
    const fakes::testing::ReservedPort unused;
    const auto dead = "redis://127.0.0.1:" + std::to_string(unused.number());
    Program no_redis = world->launch("lockstepd", {}, {{"REDIS_URL", dead}});
    EXPECT_EQ(no_redis.wait(90s), 1);  // it waits half a minute for its servers
    EXPECT_NE(no_redis.output().find("check REDIS_URL"), std::string::npos) << no_redis.output();
}

}  // namespace
}  // namespace lockstep::prod::testing
