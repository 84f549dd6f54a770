#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct HearsayTest : RuleTest {
    HearsayTest() : RuleTest(rules::hearsay) {
        now = Time{100s};
        model().set_liveness_times({tunables.worker_ttl, tunables.hydrated_worker_ttl, tunables.snapshot_lock_ttl});
    }

    /// At 100 s by the clock of Redis.
    void store(fakes::NodeId node, std::string_view worker, int active_jobs, int second = 40) {
        stored = fmt::format(R"({{"captured_at":"1970-01-01T00:01:{}Z","topics":{{}},"workers":[{{"worker_id":"{}",)"
                             R"("pool":"p","active_jobs":{},"max_parallel_jobs":0}}]}})",
                             second, worker, active_jobs);
        keys.act_for(node);
        keys.set_string("sys:workers:snapshot", stored, engine::to_millis(tunables.data_ttl) + 100'000);
        tell(event_of(EventKind::redis, "", When::applied, node));
    }
    void write(fakes::NodeId node, std::string_view worker, int active_jobs, int second = 40) {
        grant_lock(kSnapshotLock, node);
        store(node, worker, active_jobs, second);
    }
    void shake_hands(fakes::NodeId node, std::string_view worker) {
        cap::BusPacket packet;
        packet.mutable_handshake()->set_component_id(std::string(worker));
        packet.mutable_handshake()->set_role(cap::COMPONENT_ROLE_WORKER);
        deliver(packet, node);
    }
    /// kReplica has heard the worker and written it; kOther has read that.
    void pass_on() {
        hear("w");
        write(kReplica, "w", 0);
        read_snapshot(stored, kOther);
    }
    void choose(const std::string& job, std::string_view worker) {
        grant_lock("cordum:scheduler:job:" + job, kOther, job);
        set_field(job, "ls_worker", worker, kOther);
    }

    std::string stored;
};

TEST_F(HearsayTest, AReplicaWritesWhatAWorkerReportedLast) {
    hear("w", kReplica, 1);
    hear("w", kReplica, 2);
    write(kReplica, "w", 2);
    EXPECT_THAT(found, IsEmpty());
    write(kReplica, "w", 1);
    EXPECT_THAT(found, ElementsAre(HasSubstr("not with what that worker reported last")));
}

TEST_F(HearsayTest, WhatWasReportedSinceTheLockWasTakenMayBeWrittenOrNot) {
    hear("w", kReplica, 1);
    grant_lock(kSnapshotLock, kReplica);
    hear("w", kReplica, 2);
    store(kReplica, "w", 1);
    store(kReplica, "w", 2);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(HearsayTest, AWorkerThatWasOnlyReadOfIsNotWrittenAgain) {
    pass_on();
    EXPECT_EQ(times_exercised(), 0U);
    write(kOther, "w", 0);
    EXPECT_EQ(times_exercised(), 1U);
    EXPECT_THAT(found, ElementsAre(HasSubstr("of which it has no heartbeat itself")));
    shake_hands(kOther, "w");
    write(kOther, "w", 0);
    EXPECT_EQ(found.size(), 2U) << "a handshake says nothing of its load";
    hear("w", kOther);
    write(kOther, "w", 0);
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(HearsayTest, ASilentWorkerIsNotWritten) {
    hear("w");
    now += tunables.worker_ttl + tunables.worker_ttl / 10;
    write(kReplica, "w", 0);
    EXPECT_THAT(found, IsEmpty()) << "the clock of the replica may be slow";
    now += tunables.worker_ttl / 10;
    write(kReplica, "w", 0);
    EXPECT_THAT(found, ElementsAre(HasSubstr("too old")));
}

TEST_F(HearsayTest, AWriteAfterACrashIsJudgedByWhatItsReplicaKnew) {
    hear("w");
    grant_lock(kSnapshotLock, kReplica);
    befall(EventKind::node_down, kReplica);
    store(kReplica, "w", 0);
    EXPECT_THAT(found, IsEmpty());
    store(kReplica, "v", 0);
    EXPECT_THAT(found, ElementsAre(HasSubstr("worker v, from which it never heard")));
    write(kReplica, "w", 0);
    EXPECT_THAT(found, ElementsAre(HasSubstr("worker v"), HasSubstr("worker w, from which it never heard")))
        << "it started again and knows nothing";
}

TEST_F(HearsayTest, NoSnapshotIsDatedAhead) {
    hear("w");
    write(kReplica, "w", 0, 41);
    EXPECT_THAT(found, IsEmpty());
    write(kReplica, "w", 0, 42);
    EXPECT_THAT(found, ElementsAre(HasSubstr("ahead of the clock of Redis")));
}

TEST_F(HearsayTest, ASnapshotThatAFaultWroteIsJudgedOfNoReplica) {
    store({}, "w", 0, 59);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(HearsayTest, ASnapshotThatWasReadIsGoodForAWhile) {
    pass_on();
    now += tunables.hydrated_worker_ttl;
    choose("a", "w");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
    now += tunables.hydrated_worker_ttl / 4;
    choose("b", "w");
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: it goes to worker w, which its replica knows from a snapshot only")));
}

TEST_F(HearsayTest, TheChoiceIsMadeAfterTheAnswerOfPolicy) {
    pass_on();
    grant_lock("cordum:scheduler:job:a", kOther, "a");
    now += 2 * tunables.hydrated_worker_ttl;
    tell(event_of(EventKind::kernel_check, "a", When::answered, kOther));
    set_field("a", "ls_worker", "w", kOther);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(HearsayTest, AnOldSnapshotIsGoodForLess) {
    hear("w");
    write(kReplica, "w", 0);
    now += tunables.worker_ttl - 1s;
    read_snapshot(stored, kOther, When::applied);
    write(kReplica, "w", 0);  // it is the older one that was found
    read_snapshot(stored, kOther);
    now += 8s;
    choose("a", "w");
    EXPECT_THAT(found, ElementsAre(HasSubstr("that was too old")));
}

TEST_F(HearsayTest, AReplicaThatHearsTheWorkerMeanwhileNeedsNoSnapshot) {
    pass_on();
    hear("w", kOther);
    now += tunables.worker_ttl;
    choose("a", "w");
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
