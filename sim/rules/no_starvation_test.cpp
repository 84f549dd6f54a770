#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct NoStarvationTest : RuleTest {
    static constexpr const char* kQueue = "lockstep:tenant:waiting:small";

    NoStarvationTest() : RuleTest(rules::no_starvation) {}

    void submit(const std::string& job, const std::string& tenant = "small") {
        set_field(job, "state", "PENDING");
        set_field(job, "tenant", tenant);
        set_text("job:req:" + job, R"({"jobId":"x"})");
    }
    void attempt(std::string_view job) {
        observe(EventKind::redis, job, {.key = "cordum:scheduler:job:x"}, When::before);
    }
    void queue(const std::string& key, const std::string& job) { keys.zset_set(at<SortedSet>(key), job, 1); }
    void leave(const std::string& key, const std::string& job) { keys.zset_remove(*keys.find(key), job); }
};

TEST_F(NoStarvationTest, AWaitingJobIsTriedAgainInTime) {
    submit("a");
    attempt("a");
    now += 30s;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 2U);
    now += 10min;
    attempt("a");
    EXPECT_THAT(found,
                ElementsAre(HasSubstr("a: tenant small had 1 jobs waiting, and this one was not tried from 40")));
}

TEST_F(NoStarvationTest, AJobThatRedisHasForgottenWaitsForItsMessageOnly) {
    for (const char* job : {"a", "b"}) {
        submit(job);
        attempt(job);
    }
    keys.restore([this] {
        keys.remove(*keys.find("job:meta:a"));
        keys.remove(*keys.find("job:req:a"));
    });
    now += 10min;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    attempt("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: tenant small had 1 jobs waiting")));
}

TEST_F(NoStarvationTest, AQueueThatEndsTakesNoJobOutOfAnother) {
    for (const char* job : {"a", "b"}) {
        submit(job);
        queue(kQueue, job);
    }
    keys.restore([this] { leave(kQueue, "a"); });
    queue("lockstep:capacity:waiting", "a");
    leave(kQueue, "b");
    now += 10min;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    attempt("b");
    EXPECT_EQ(found.size(), 1U) << "it has left its only queue";
}

TEST_F(NoStarvationTest, AJobThatHasChangedItsQueueStaysInTheNewOne) {
    constexpr const char* kForWorkers = "lockstep:capacity:waiting";
    submit("a");
    queue(kForWorkers, "a");
    queue(kQueue, "a");
    leave(kForWorkers, "a");
    now += 10min;
    attempt("a");
    queue(kForWorkers, "a");
    leave(kQueue, "a");
    now += 10min;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    leave(kForWorkers, "a");
    now += 10min;
    attempt("a");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(NoStarvationTest, ATenantWaitsForItsOwnJobs) {
    for (int i = 0; i < 6; ++i) submit("j" + std::to_string(i), "large");
    attempt("j0");
    now += 10min;
    attempt("j0");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 0U);
    now += 10min;
    set_field("j5", "state", "RUNNING");
    attempt("j0");
    EXPECT_THAT(found, IsEmpty()) << "there were too many until now";
    now += 1s;
    attempt("j0");
    now += 10min;
    attempt("j0");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(NoStarvationTest, TheJobsOfOthersAreNoExcuse) {
    for (int i = 0; i < 100; ++i) submit("j" + std::to_string(i), "large");
    submit("a");
    attempt("a");
    now += 10min;
    attempt("a");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(NoStarvationTest, NothingIsAskedWhileAFaultGoesOn) {
    submit("a");
    attempt("a");
    fault("partition");
    now += 10min;
    attempt("a");
    now += 10min;
    fault("partition", "end");
    attempt("a");
    fault("redis.script_flush");
    now += 10min;
    attempt("a");
    EXPECT_EQ(found.size(), 1U) << "a flush is over at once: the ten minutes after it count";
}

TEST_F(NoStarvationTest, TheFirstTryIsJudgedAsAnyOther) {
    submit("a");
    now += 10min;
    attempt("a");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(NoStarvationTest, AfterADisturbanceTheTimeCountsFromItsEnd) {
    submit("a");
    attempt("a");
    now += 10min;
    befall(EventKind::node_down, kOther);
    now += 200s;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    befall(EventKind::node_down, kOther);
    now += 10min;
    attempt("a");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(NoStarvationTest, TheReplicaThatLooksMayHaveToBeReplacedFirst) {
    const engine::Duration longest = tunables.pending_age + 2 * tunables.replayer_interval + 30s;
    submit("a");
    attempt("a");
    now += longest;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    now += 1s;
    befall(EventKind::node_down, kOther);
    now += longest + 2 * tunables.replayer_interval;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    now += longest + 1s;
    attempt("a");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(NoStarvationTest, AJobThatRunsDoesNotWait) {
    submit("a");
    attempt("a");
    set_field("a", "state", "RUNNING");
    now += 10min;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    set_field("a", "state", "PENDING");
    attempt("a");
    EXPECT_THAT(found, IsEmpty()) << "its time begins anew";
}

// Whether it waits too long there is for slot_used.
TEST_F(NoStarvationTest, AQueuedJobWaitsUntilItIsWoken) {
    for (const char* key : {kQueue, "lockstep:capacity:waiting"}) {
        found.clear();
        submit("a");
        attempt("a");
        queue(key, "a");
        now += 1h;
        attempt("a");
        leave(key, "a");
        now += 1s;
        attempt("a");
        EXPECT_THAT(found, IsEmpty());
        now += 10min;
        attempt("a");
        EXPECT_EQ(found.size(), 1U) << "it has left the queue";
    }
}

TEST_F(NoStarvationTest, AJobThatLeavesItsQueueHasTimeFromThenOn) {
    submit("a");
    queue(kQueue, "a");
    now += 1h;
    leave(kQueue, "a");
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoStarvationTest, AJobWhoseRequestIsDamagedCannotBeTried) {
    submit("a");
    attempt("a");
    keys.act_for({});
    keys.set_string("job:req:a", R"({"jobId)", kNever);
    now += 10min;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    set_text("job:req:a", R"({"jobId":"x"})");
    now += 10min;
    attempt("a");
    EXPECT_EQ(found.size(), 1U) << "it was stored again";
}

TEST_F(NoStarvationTest, AFailoverThatKeepsTheQueueKeepsTheJobInIt) {
    submit("a");
    attempt("a");
    queue(kQueue, "a");
    keys.restore([] {});
    now += 1h;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
    keys.restore([this] { keys.remove(*keys.find(kQueue)); });
    now += 1h;
    attempt("a");
    EXPECT_EQ(found.size(), 1U) << "the queue is lost";
    keys.restore([this] { queue(kQueue, "a"); });
    now += 1h;
    attempt("a");
    EXPECT_EQ(found.size(), 1U) << "it is there again, with the data of another primary";
}

TEST_F(NoStarvationTest, AJobWhoseRequestAFailoverHasTakenCannotBeTried) {
    submit("a");
    attempt("a");
    keys.restore([this] { keys.remove(*keys.find("job:req:a")); });
    now += 1h;
    attempt("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoStarvationTest, AJobLeavesItsQueueWhenThatIsGone) {
    for (const std::string queued_in : {kQueue, "lockstep:capacity:waiting"}) {
        found.clear();
        submit("a");
        attempt("a");
        queue(queued_in, "a");
        for (const char* other : {"lockstep:tenant:waiting:large", "lockstep:capacity:woken"}) {
            queue(other, "b");
            keys.remove(*keys.find(other));
        }
        now += 1h;
        attempt("a");
        EXPECT_THAT(found, IsEmpty()) << "its own is there";
        keys.remove(*keys.find(queued_in));
        now += 1h;
        attempt("a");
        EXPECT_EQ(found.size(), 1U);
    }
}

}  // namespace
}  // namespace lockstep::sim
