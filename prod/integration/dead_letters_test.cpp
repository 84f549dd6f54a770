// The dead letters as an operator handles them, on a real Redis.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "prod/integration/deployment_fixture.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

class DeadLettersTest : public DeploymentFixture {
protected:
    /// An entry as a scheduler or a gateway writes it, this old and with this much life left.
    void store(const std::string& job, int age_seconds, int lives_seconds) {
        constexpr long kNow = 1'760'000'000;
        world->redis_type({fmt::format(R"(SET dlq:entry:{0} '{{"job_id":"{0}","reason_code":"timeout"}}' EX {1})", job,
                                       lives_seconds),
                           fmt::format("ZADD dlq:index {} {}", kNow - age_seconds, job)});
    }
    /// Its members, but for id and topic.
    void store_request(const std::string& job, const std::string& members) {
        world->redis_set("job:req:" + job, fmt::format(R"({{"jobId":"{}","topic":"job.default",{}}})", job, members));
    }
    void expire(const std::string& job) { world->redis_type({"DEL dlq:entry:" + job}); }
    std::vector<std::string> listed(std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"dlq", "list"});
        std::vector<std::string> jobs;
        for (const auto& entry : world->ctl_json(std::move(more))) jobs.push_back(entry.value("job_id", ""));
        return jobs;
    }
    using Jobs = std::vector<std::string>;
};

// BUS-13
TEST_F(DeadLettersTest, AreListedNewestFirstAndPageByPage) {
    store("oldest", 120, 7200);
    store("middle", 60, 7200);
    store("newest", 30, 7200);
    EXPECT_EQ(listed({"--limit", "2"}), (Jobs{"newest", "middle"}));
    EXPECT_EQ(listed({"--limit", "2", "--offset", "2"}), Jobs{"oldest"});
    EXPECT_NE(world->ctl({"dlq", "show", "middle"}).text.find("dead_letters.md#timeout"), std::string::npos);
    EXPECT_EQ(world->ctl({"dlq", "delete", "middle"}).exit_code, 0);
    EXPECT_EQ(world->ctl({"dlq", "delete", "middle"}).exit_code, 3);
    EXPECT_EQ(listed(), (Jobs{"newest", "oldest"}));
}

// D-01
TEST_F(DeadLettersTest, OfMessagesThatCannotBeDecodedHaveAListOfTheirOwn) {
    store("job", 60, 7200);
    const std::string id = "poison:CORDUM_SYS:7";
    const std::string other = "poison:CORDUM_SYS:8";
    for (const std::string& letter : {id, other})
        world->redis_type(
            {fmt::format(R"(SET dlq:entry:{0} '{{"job_id":"{0}","reason_code":"poison_message"}}')", letter),
             fmt::format("ZADD lockstep:undecodable:index 1760000000 {}", letter)});
    EXPECT_EQ(listed(), Jobs{"job"});
    EXPECT_EQ(listed({"--undecodable"}), (Jobs{other, id}));
    EXPECT_NE(world->ctl({"dlq", "show", id}).text.find("poison_message"), std::string::npos);
    EXPECT_EQ(world->ctl({"dlq", "delete", id}).exit_code, 0);
    EXPECT_EQ(listed({"--undecodable"}), Jobs{other});
    expire(other);
    EXPECT_EQ(world->ctl_json({"dlq", "clean"}).value("removed", -1), 1);
    EXPECT_EQ(world->redis_keys("lockstep:undecodable:index"), 0);
    EXPECT_EQ(listed(), Jobs{"job"});
}

// BUS-14
TEST_F(DeadLettersTest, ThatHaveExpiredAreDroppedOnTheWay) {
    for (const char* job : {"a", "b", "c", "d", "e"}) store(job, 10, 7200);
    expire("b");
    expire("d");
    EXPECT_EQ(listed().size(), 3U);
    EXPECT_EQ(world->redis_keys("dlq:entry:*"), 3);
    EXPECT_EQ(world->ctl_json({"dlq", "clean"}).value("removed", -1), 0) << "the list has dropped them already";
}

// BUS-14
TEST_F(DeadLettersTest, AreCleanedByOneAtATime) {
    for (int i = 0; i < 1200; ++i) store("job-" + std::to_string(i), i, 7200);
    for (int i = 0; i < 1200; i += 3) expire("job-" + std::to_string(i));
    world->redis_type({"SET cordum:dlq:cleanup somebody"});
    EXPECT_EQ(world->ctl({"dlq", "clean"}).exit_code, 1);
    EXPECT_EQ(world->redis_keys("cordum:dlq:cleanup"), 1) << "the lock of somebody else stays";
    world->redis_type({"DEL cordum:dlq:cleanup"});
    EXPECT_EQ(world->ctl_json({"dlq", "clean"}).value("removed", -1), 400);
    EXPECT_EQ(world->redis_keys("cordum:dlq:cleanup"), 0);
    EXPECT_EQ(listed({"--limit", "2000"}).size(), 800U);
    world->redis().kill();
    EXPECT_EQ(world->ctl({"dlq", "clean"}).exit_code, 1);
}

TEST_F(DeadLettersTest, ArePagedByACursorThatSurvivesRemovals) {
    for (const char* job : {"a", "b", "c", "d"}) store(job, 10, 7200);
    store("old", 600, 7200);
    const auto first = world->ctl({"dlq", "list", "--limit", "2"});
    EXPECT_NE(first.text.find("--after 1759999990:c"), std::string::npos) << first.text;
    EXPECT_EQ(world->ctl({"dlq", "delete", "d"}).exit_code, 0);
    EXPECT_EQ(listed({"--limit", "2", "--after", "1759999990:c"}), (Jobs{"b", "a"}));
    EXPECT_EQ(listed({"--limit", "2", "--after", "1759999990:a"}), Jobs{"old"});
    EXPECT_EQ(world->ctl({"dlq", "list", "--after", "c"}).exit_code, 2);
}

TEST_F(DeadLettersTest, ArePurgedInBulkByWhatIsSaidOfThem) {
    for (int i = 0; i < 510; ++i) store(fmt::format("job-{}", i), 10, 7200);
    world->redis_type({R"(SET dlq:entry:job-7 '{"job_id":"job-7","reason_code":"safety_denied","topic":"job.a"}')",
                       "HSET job:meta:job-9 tenant acme"});
    EXPECT_EQ(world->ctl({"dlq", "purge"}).exit_code, 2) << "it has to be said which";
    EXPECT_EQ(listed({"--reason", "safety_denied"}), Jobs{"job-7"});
    EXPECT_EQ(listed({"--tenant", "acme"}), Jobs{"job-9"});
    const auto would = world->ctl_json({"dlq", "purge", "--topic", "job.a", "--dry-run"});
    EXPECT_EQ(would.at("jobs"), nlohmann::json{"job-7"}) << would;
    EXPECT_EQ(world->redis_keys("dlq:entry:*"), 510) << "a dry run removes nothing";
    EXPECT_EQ(world->ctl_json({"dlq", "purge", "--topic", "job.a"}).at("jobs").size(), 1U);
    EXPECT_EQ(world->ctl_json({"dlq", "purge", "--older-than", "87600h"}).at("jobs").size(), 0U);
    const auto purged = world->ctl_json({"dlq", "purge", "--reason", "timeout", "--limit", "505"});
    EXPECT_EQ(purged.at("jobs").size(), 505U);
    EXPECT_EQ(purged.at("more"), true);
    EXPECT_EQ(listed({"--limit", "2000"}).size(), 4U);
}

TEST_F(DeadLettersTest, AreRetriedInBulk) {
    world->add_scheduler();
    for (const char* job : {"a", "b"}) {
        store(job, 10, 7200);
        store_request(job, fmt::format(R"("contextPtr":"redis://ctx:{}","compensation":{{"topic":"job.undo"}})", job));
        world->redis_set(fmt::format("ctx:{}", job), "input");
    }
    for (const char* job : {"no-request", "no-input", "elsewhere", "foreign"}) store(job, 10, 7200);
    store_request("no-input", R"("contextPtr":"redis://ctx:no-input")");
    store_request("elsewhere", R"("contextPtr":"redis://ctx:a")");
    store_request("foreign", R"("contextPtr":"s3://bucket/x")");
    EXPECT_EQ(world->ctl({"dlq", "retry", "a", "--reason", "timeout"}).exit_code, 2);
    EXPECT_EQ(world->ctl_json({"dlq", "retry", "--all", "--dry-run"}).at("jobs").size(), 6U);
    const auto told = world->ctl({"dlq", "retry", "--reason", "timeout"});
    EXPECT_EQ(told.exit_code, 1);
    for (const char* why :
         {"job no-request cannot be submitted again: its request (job:req:no-request) has expired",
          "job no-input cannot be submitted again: its input (ctx:no-input) has expired",
          "job elsewhere cannot be submitted again: its input lies at redis://ctx:a, and only what lies at "
          "ctx:elsewhere",
          "job foreign cannot be submitted again: its input lies at s3://bucket/x", "lockstepctl dlq delete foreign"})
        EXPECT_NE(told.text.find(why), std::string::npos) << why << " in " << told.text;
    EXPECT_EQ(listed(), (Jobs{"no-request", "no-input", "foreign", "elsewhere"}));
    EXPECT_EQ(world->redis_keys("job:meta:*-retry-*"), 2);
}

TEST_F(DeadLettersTest, AreRetriedWithEachFieldAsItWasButWhatNamesTheFormerJob) {
    nlohmann::json request = nlohmann::json::parse(R"({
        "jobId": "j", "topic": "job.default", "priority": "JOB_PRIORITY_CRITICAL", "contextPtr": "redis://ctx:j", "adapterId": "ad",
        "env": {"K": "v", "tenant_id": "acme"}, "parentJobId": "parent", "workflowId": "w", "stepIndex": 3, "memoryId": "mem",
        "contextHints": {"maxInputTokens": 5, "allowSummarization": true, "allowRetrieval": true, "tags": ["t"]},
        "budget": {"maxInputTokens": "1", "maxOutputTokens": "2", "maxTotalTokens": "3", "deadlineMs": "3600000"},
        "tenantId": "acme", "principalId": "me",
        "labels": {"team": "x", "approval_granted": "true", "Approval_by": "y", "cordum.bus_msg_id": "m"},
        "meta": {"tenantId": "acme", "actorId": "actor", "actorType": "ACTOR_TYPE_HUMAN", "idempotencyKey": "key", "capability": "c",
                 "riskTags": ["r"], "requires": ["gpu"], "packId": "pack", "labels": {"l": "m"}},
        "compensation": {"topic": "job.undo", "env": {"A": "b"}}})");
    world->add_scheduler();
    store("j", 10, 7200);
    world->redis_set("job:req:j", request.dump());
    world->redis_set("ctx:j", "its input");
    const auto told = world->ctl_json({"dlq", "retry", "j"});
    const std::string job = told.value("job_id", "");
    ASSERT_TRUE(job.starts_with("j-retry-")) << told;
    EXPECT_EQ(world->redis_get("ctx:" + job), "its input");
    auto again = nlohmann::json::parse(world->redis_get("job:req:" + job));
    request["jobId"] = job;
    request["contextPtr"] = "redis://ctx:" + job;
    request["labels"] = {{"team", "x"}, {"retry_of_job", "j"}, {"dlq_entry", "j"}, {"retry", "true"}};
    // What was left out stands there at its default.
    for (const auto& [name, value] : request.items())
        if (value.is_object())
            for (const auto& [inner, text] : value.items()) EXPECT_EQ(again[name][inner], text) << name << "." << inner;
        else
            EXPECT_EQ(again[name], value) << name;
    EXPECT_EQ(again["labels"].size(), 4U) << again["labels"];
    const auto status = world->ctl_json({"status", job});
    EXPECT_EQ(status.value("pack_id", ""), "pack") << status;
    EXPECT_EQ(status.value("memory_id", ""), "mem");
    EXPECT_FALSE(status.value("deadline", "").empty());
}

TEST_F(DeadLettersTest, AreRetriedOnceHoweverOftenItIsTriedAndWhereTheMessageIsLost) {
    store("j", 10, 7200);
    store_request("j", R"("contextPtr":"redis://ctx:j")");
    world->redis_set("ctx:j", "x");
    const std::string letter = world->redis_get("dlq:entry:j");
    // Without a scheduler there is no stream yet that would take the message.
    const auto first = world->ctl({"dlq", "retry", "j"});
    EXPECT_EQ(first.exit_code, 0) << first.text;
    EXPECT_NE(first.text.find("is stored and not published"), std::string::npos) << first.text;
    EXPECT_EQ(listed(), Jobs{});
    EXPECT_EQ(world->ctl({"dlq", "retry", "j"}).exit_code, 3);
    // As if a failover had lost the removal.
    world->redis_set("dlq:entry:j", letter);
    const auto second = world->ctl({"dlq", "retry", "j"});
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_NE(second.text.find("another job under its new id"), std::string::npos) << second.text;
    world->add_scheduler();
    world->add_worker("w1");
    EXPECT_TRUE(world->all_end(1, 60s));
    EXPECT_EQ(world->executions().size(), 1U);
}

TEST_F(DeadLettersTest, OfManyThatTwoPeopleRetryAtOnceEachJobRunsOnce) {
    constexpr int kLetters = 120;
    world->add_scheduler();
    world->add_worker("w1", {"--max-parallel", "64", "--service-time", "1ms"});
    for (int i = 0; i < kLetters; ++i) {
        const std::string job = fmt::format("j{}", i);
        store(job, 10, 7200);
        store_request(job, fmt::format(R"("contextPtr":"ctx:{}")", job));
        world->redis_set("ctx:" + job, "x");
    }
    std::vector<Program> people;
    for (int i = 0; i < 3; ++i) people.push_back(world->launch("lockstepctl", {"dlq", "retry", "--all"}));
    for (Program& person : people) (void)person.wait(60s);
    EXPECT_EQ(listed(), Jobs{});
    EXPECT_EQ(world->redis_keys("job:meta:*-retry-*"), kLetters);
    EXPECT_TRUE(world->all_end(kLetters, 60s));
    EXPECT_EQ(world->executions().size(), static_cast<std::size_t>(kLetters));
    for (const auto& [job, times] : world->executions()) EXPECT_EQ(times, 1) << job;
}

TEST_F(DeadLettersTest, ThatAreWrittenAnewAreNotPurgedForWhatTheySaidBefore) {
    constexpr int kLetters = 1000;  // the last of which is reached a second or so after the first
    world->redis_type({fmt::format(
        R"(EVAL "for i = 1, {} do redis.call('SET', 'dlq:entry:j' .. i, '{{\"job_id\":\"j' .. i .. '\",\"reason_code\":\"timeout\"}}'); )"
        R"(redis.call('ZADD', 'dlq:index', i, 'j' .. i) end" 0)",
        kLetters)});
    auto person = world->launch("lockstepctl", {"dlq", "purge", "--reason", "timeout"});
    ASSERT_TRUE(Deployment::until([&] { return world->redis_keys("dlq:entry:*") < kLetters; }, 10s));
    world->redis_set("dlq:entry:j1", R"({"job_id":"j1","reason_code":"safety_denied"})");
    const auto code = person.wait(60s);
    EXPECT_EQ(code, 1);
    EXPECT_NE(person.output().find("the dead letter of job j1 was written anew meanwhile"), std::string::npos);
    EXPECT_EQ(listed(), Jobs{"j1"});
}

}  // namespace
}  // namespace lockstep::prod::testing
