#include "sim/oracles/no_starvation.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class NoStarvationTest : public ::testing::Test {
protected:
    void submit(const std::string& job, const std::string& tenant) {
        judge.tell(oracle, testing::state_event(job, "", "PENDING"), now);
        oracle.hash_set({}, "job:meta:" + job, "tenant", nullptr, tenant);
    }
    void attempt(std::string_view job) {
        fakes::Event event = testing::event_of(fakes::EventKind::redis, job, fakes::When::before);
        event.key = "cordum:scheduler:job:x";
        judge.tell(oracle, event, now);
    }
    void fault(std::string_view name, std::string_view phase) {
        fakes::Event event = testing::event_of(fakes::EventKind::fault, "");
        event.name = name;
        event.from = phase;
        judge.tell(oracle, event, now);
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    NoStarvation oracle{judge, tunables};
    Time now{10s};
};

TEST_F(NoStarvationTest, AWaitingJobIsTriedAgainInTime) {
    submit("a", "small");
    attempt("a");
    now += 30s;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 2U);
    now += 10min;
    attempt("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a: tenant small had 1 jobs waiting, and nobody tried this one")));
}

TEST_F(NoStarvationTest, AJobThatRedisHasForgottenWaitsForNothingButItsMessage) {
    for (const char* job : {"a", "b"}) {
        submit(job, "small");
        attempt(job);
    }
    fakes::redis::Keyspace keys;
    keys.hash_set(keys.create<fakes::redis::Hash>("job:meta:b"), "state", "PENDING");
    keys.set_string("job:req:b", "{}", fakes::redis::kNever);
    oracle.restored(keys);
    now += 10min;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty());
    attempt("b");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("b: tenant small had 1 jobs waiting")));
}

TEST_F(NoStarvationTest, ATenantWaitsForItsOwnBacklog) {
    for (int i = 0; i < 6; ++i) submit("j" + std::to_string(i), "large");
    attempt("j0");
    now += 10min;
    attempt("j0");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 0U);
}

TEST_F(NoStarvationTest, OthersBacklogsAreNoExcuse) {
    for (int i = 0; i < 100; ++i) submit("j" + std::to_string(i), "large");
    submit("a", "small");
    attempt("a");
    now += 10min;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(NoStarvationTest, NothingIsAskedWhileSomethingIsBroken) {
    submit("a", "small");
    attempt("a");
    fault("partition", "begin");
    now += 10min;
    attempt("a");
    now += 10min;
    fault("partition", "end");
    attempt("a");
    fault("redis.script_flush", "begin");
    now += 10min;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U) << "a flush is over at once: the ten minutes after it count";
}

TEST_F(NoStarvationTest, TheFirstTryIsJudgedAsAnyOther) {
    submit("a", "small");
    now += 10min;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(NoStarvationTest, WhatNobodyTriesAfterTroubleCountsFromItsEnd) {
    submit("a", "small");
    attempt("a");
    now += 10min;
    judge.tell(oracle, testing::event_of(fakes::EventKind::node_down, ""), now);
    now += 200s;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty());
    judge.tell(oracle, testing::event_of(fakes::EventKind::node_down, ""), now);
    now += 10min;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(NoStarvationTest, AJobThatRunsDoesNotWait) {
    submit("a", "small");
    attempt("a");
    judge.tell(oracle, testing::state_event("a", "PENDING", "RUNNING"), now);
    now += 10min;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

// Whether it waits too long there is for slot_used to say.
TEST_F(NoStarvationTest, AJobInItsTenantsLineWaitsForItsTurn) {
    submit("a", "small");
    attempt("a");
    oracle.zset_set({}, "lockstep:tenant:waiting:small", "a", nullptr, 1);
    now += 1h;
    attempt("a");
    oracle.zset_removed({}, "lockstep:tenant:waiting:small", "a", 1);
    now += 1s;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty());
    now += 10min;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U) << "it has left the line";
}

TEST_F(NoStarvationTest, OfAJobWhoseRequestIsDamagedNothingCanBeTried) {
    const std::string request = R"({"job_id":"a"})";
    submit("a", "small");
    oracle.string_set(testing::kReplica, "job:req:a", nullptr, request, -1, -1);
    oracle.string_set({}, "job:req:a", &request, request.substr(0, request.size() / 2), -1, -1);
    attempt("a");
    now += 10min;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty());
    oracle.string_set(testing::kReplica, "job:req:a", nullptr, request, -1, -1);
    now += 10min;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U) << "somebody has stored it again";
}

TEST_F(NoStarvationTest, AFailoverThatKeepsTheLineKeepsTheJobInIt) {
    const std::string line = "lockstep:tenant:waiting:small";
    submit("a", "small");
    attempt("a");
    oracle.zset_set({}, line, "a", nullptr, 1);
    fakes::redis::Keyspace keys;
    keys.hash_set(keys.create<fakes::redis::Hash>("job:meta:a"), "state", "PENDING");
    keys.set_string("job:req:a", "{}", fakes::redis::kNever);
    keys.zset_set(keys.create<fakes::redis::SortedSet>(line), "a", 1);
    oracle.restored(keys);
    now += 1h;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty());
    fakes::redis::Keyspace without;
    without.hash_set(without.create<fakes::redis::Hash>("job:meta:a"), "state", "PENDING");
    without.set_string("job:req:a", "{}", fakes::redis::kNever);
    oracle.restored(without);
    now += 1h;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U) << "the line is lost";
    oracle.restored(keys);
    now += 1h;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U) << "it stands there again, with the data of another primary";
}

TEST_F(NoStarvationTest, AJobWhoseRequestAFailoverHasTakenCannotBeTried) {
    submit("a", "small");
    attempt("a");
    fakes::redis::Keyspace keys;
    keys.hash_set(keys.create<fakes::redis::Hash>("job:meta:a"), "state", "PENDING");
    oracle.restored(keys);
    now += 1h;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoStarvationTest, OnlyItsOwnLineLetsAJobGoWhenItIsGone) {
    submit("a", "small");
    attempt("a");
    oracle.zset_set({}, "lockstep:tenant:waiting:small", "a", nullptr, 1);
    oracle.key_removed({}, "lockstep:tenant:waiting:large", fakes::redis::Removal::deleted, {}, 0);
    now += 1h;
    attempt("a");
    EXPECT_THAT(judge.found, IsEmpty()) << "it stands where it stood";
    oracle.key_removed({}, "lockstep:tenant:waiting:small", fakes::redis::Removal::deleted, {}, 0);
    now += 1h;
    attempt("a");
    EXPECT_EQ(judge.found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
