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
    EXPECT_NE(world->ctl({"dlq", "show", "middle"}).text.find("timeout"), std::string::npos);
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

}  // namespace
}  // namespace lockstep::prod::testing
