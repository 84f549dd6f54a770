// The dead letters as an operator handles them, on a real Redis.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "prod/integration/deployment_fixture.h"

namespace lockstep::prod::testing {
namespace {

class DeadLettersTest : public DeploymentFixture {
protected:
    /// An entry as a scheduler or a gateway writes it, this old and with this much life left.
    void store(const std::string& job, int age_seconds, int lives_seconds) {
        constexpr long kNow = 1'760'000'000;
        world->redis_type({fmt::format(R"(SET dlq:entry:{0} '{{"job_id":"{0}","reason_code":"timeout"}}' EX {1})", job,
                                       lives_seconds),
                           fmt::format("ZADD dlq:index {} {}", kNow - age_seconds, job)});
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
        world->redis_type({fmt::format(
            R"(SET job:req:{0} '{{"jobId":"{0}","topic":"job.default","compensation":{{"topic":"job.undo"}}}}')",
            job)});
    }
    store("gone", 10, 7200);
    EXPECT_EQ(world->ctl({"dlq", "retry", "a", "--reason", "timeout"}).exit_code, 2);
    EXPECT_EQ(world->ctl_json({"dlq", "retry", "--all", "--dry-run"}).at("jobs").size(), 3U);
    EXPECT_EQ(world->ctl({"dlq", "retry", "--reason", "timeout"}).exit_code, 1) << "the request of one is gone";
    EXPECT_EQ(listed(), Jobs{"gone"});
    EXPECT_EQ(world->redis_keys("job:meta:a-retry-*"), 1);
}

}  // namespace
}  // namespace lockstep::prod::testing
