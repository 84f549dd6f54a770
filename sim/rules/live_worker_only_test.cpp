#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct LiveWorkerOnlyTest : RuleTest {
    LiveWorkerOnlyTest() : RuleTest(rules::live_worker_only) {
        tunables.worker_ttl = 8s;
        tunables.hydrated_worker_ttl = 4s;
    }

    void commit(std::string_view job, std::string_view worker) {
        set_field(std::string(job), "ls_worker", worker);
        tell(event_of(EventKind::redis, job, When::answered));
    }
    void send(std::string_view job, std::string_view subject) {
        observe(EventKind::publish, job, {.subject = subject}, When::before);
    }
    void dispatch(std::string_view job) {
        commit(job, "w");
        send(job, "worker.w.jobs");
    }
};

TEST_F(LiveWorkerOnlyTest, AWorkerThatWasJustHeardMayBeSentTo) {  // STALE-01
    hear("w");
    now += 9s;  // the replica's clock may be an eighth slow
    dispatch("a");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 0U) << "nobody was dead";
}

TEST_F(LiveWorkerOnlyTest, AWorkerThatIsSilentForTooLongMayNot) {  // STALE-03
    hear("w");
    now += 9500ms;
    dispatch("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: it is published on worker.w.jobs by a replica to which that "
                                             "worker was dead for 500 ms")));
}

TEST_F(LiveWorkerOnlyTest, WhatOthersHaveHeardDoesNotCount) {  // STALE-01
    hear("w", kOther);
    dispatch("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("a replica that has never heard of that worker")));
}

TEST_F(LiveWorkerOnlyTest, ARestartedReplicaKnowsWhomTheSnapshotNames) {
    hear("w");
    tell(event_of(EventKind::node_down, ""));
    read_snapshot("$9\r\n{\"workers\": [{\"worker_id\": \"w\"}]}\r\n");
    now += 4500ms;
    dispatch("a");
    EXPECT_THAT(found, IsEmpty());
    now += 100ms;
    dispatch("b");
    EXPECT_EQ(found.size(), 1U) << "unheard, it lives for hydrated_worker_ttl only";
}

TEST_F(LiveWorkerOnlyTest, ASnapshotThatCannotBeReadNamesNobody) {
    read_snapshot("$9\r\n{\"workers\": [{\"worker_id\": \"w\r\n");
    dispatch("a");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(LiveWorkerOnlyTest, TheReplicaIsJudgedByItsLastLook) {
    hear("w");
    commit("a", "w");
    now += 1min;  // frozen, without knowing it
    send("a", "worker.w.jobs");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LiveWorkerOnlyTest, SendingTheSameDispatchAgainIsAnotherRulesBusiness) {
    hear("w");
    dispatch("a");
    now += 1min;
    send("a", "worker.w.jobs");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LiveWorkerOnlyTest, AJobOnItsTopicIsForWhoeverListens) {
    commit("a", "");
    send("a", "job.default");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LiveWorkerOnlyTest, IsPutToTheTestWhereSomebodyIsDead) {
    hear("w");
    hear("other");
    now += 10s;
    commit("a", "w");  // and taken back
    EXPECT_EQ(times_exercised(), 1U);
    hear("w");
    dispatch("b");
    EXPECT_EQ(times_exercised(), 2U) << "the choice could have fallen on the other";
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
