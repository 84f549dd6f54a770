#include "sim/oracles/live_worker_only.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;
using testing::kReplica;
using namespace std::chrono_literals;

class LiveWorkerOnlyTest : public ::testing::Test {
protected:
    LiveWorkerOnlyTest() {
        tunables.worker_ttl = 8s;
        tunables.hydrated_worker_ttl = 4s;
    }

    void tell(fakes::Event event, fakes::NodeId node = kReplica) {
        event.node = node;
        judge.tell(oracle, event, now);
    }
    void hear(std::string_view worker, fakes::NodeId node = kReplica) {
        cap::BusPacket packet;
        packet.mutable_heartbeat()->set_worker_id(std::string(worker));
        fakes::Event event = testing::event_of(EventKind::core_deliver, "");
        event.packet = &packet;
        tell(event, node);
    }
    void read_snapshot(std::string_view reply) {
        fakes::Event event = testing::event_of(EventKind::redis, "", When::answered);
        event.command = "GET";
        event.key = "sys:workers:snapshot";
        event.payload = reply;
        tell(event);
    }
    void commit(std::string_view job, std::string_view worker) {
        oracle.hash_set(kReplica, "job:meta:" + std::string(job), "ls_worker", nullptr, worker);
        fakes::Event event = testing::event_of(EventKind::redis, job, When::answered);
        tell(event);
    }
    void send(std::string_view job, std::string_view subject) {
        fakes::Event event = testing::event_of(EventKind::publish, job, When::before);
        event.subject = subject;
        tell(event);
    }
    void dispatch(std::string_view job) {
        commit(job, "w");
        send(job, "worker.w.jobs");
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    LiveWorkerOnly oracle{judge, tunables};
    Time now{100s};
};

TEST_F(LiveWorkerOnlyTest, AWorkerThatWasJustHeardMayBeSentTo) {  // STALE-01
    hear("w");
    now += 9s;  // the replica's clock may be an eighth slow
    dispatch("a");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 0U) << "nobody was dead";
}

TEST_F(LiveWorkerOnlyTest, AWorkerThatIsSilentForTooLongMayNot) {  // STALE-03
    hear("w");
    now += 9500ms;
    dispatch("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a: it is published on worker.w.jobs by a replica to which that "
                                                   "worker was dead for 500 ms")));
}

TEST_F(LiveWorkerOnlyTest, WhatOthersHaveHeardDoesNotCount) {  // STALE-01
    hear("w", kOther);
    dispatch("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a replica that has never heard of that worker")));
}

TEST_F(LiveWorkerOnlyTest, ARestartedReplicaKnowsWhomTheSnapshotNames) {
    hear("w");
    tell(testing::event_of(EventKind::node_down, ""));
    read_snapshot("$9\r\n{\"workers\": [{\"worker_id\": \"w\"}]}\r\n");
    now += 4500ms;
    dispatch("a");
    EXPECT_THAT(judge.found, IsEmpty());
    now += 100ms;
    dispatch("b");
    EXPECT_EQ(judge.found.size(), 1U) << "unheard, it lives for hydrated_worker_ttl only";
}

TEST_F(LiveWorkerOnlyTest, ASnapshotThatCannotBeReadNamesNobody) {
    read_snapshot("$9\r\n{\"workers\": [{\"worker_id\": \"w\r\n");
    dispatch("a");
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(LiveWorkerOnlyTest, TheReplicaIsJudgedByItsLastLook) {
    hear("w");
    commit("a", "w");
    now += 1min;  // frozen, without knowing it
    send("a", "worker.w.jobs");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LiveWorkerOnlyTest, SendingTheSameDispatchAgainIsAnotherRulesBusiness) {
    hear("w");
    dispatch("a");
    now += 1min;
    send("a", "worker.w.jobs");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LiveWorkerOnlyTest, AJobOnItsTopicIsForWhoeverListens) {
    commit("a", "");
    send("a", "job.default");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LiveWorkerOnlyTest, IsPutToTheTestWhereSomebodyIsDead) {
    hear("w");
    hear("other");
    now += 10s;
    commit("a", "w");  // and taken back
    EXPECT_EQ(oracle.exercised(), 1U);
    hear("w");
    dispatch("b");
    EXPECT_EQ(oracle.exercised(), 2U) << "the choice could have fallen on the other";
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
