#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct HearsayTest : RuleTest {
    HearsayTest() : RuleTest(rules::hearsay) {
        now = Time{100s};
        model().set_liveness_times({tunables.worker_ttl, tunables.hydrated_worker_ttl, tunables.snapshot_lock_ttl});
        define({
            {"load", [this](auto& active) { RuleTest::hear("w", by, std::stoi(active)); }},
            {"lock", [this](auto&) { grant_lock(kSnapshotLock, by); }},
            {"store", [this](auto& of) { store_parts(of); }},
            {"write", [this](auto& of) { grant_lock(kSnapshotLock, by), store_parts(of); }},
            {"shake", [this](auto&) { shake_hands(by, "w"); }},
            {"pass_on", [this](auto&) { pass_on(); }},
            {"read", [this](auto&) { read_snapshot(stored, by); }},
            {"finds", [this](auto&) { read_snapshot(stored, by, When::applied); }},
            {"choose", [this](auto& job) { choose(job, "w"); }},
        });
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
    /// `worker:active` or `worker:active:second`
    void store_parts(const std::string& of) {
        const std::string numbers = second(of);
        store(by, first(of), std::stoi(first(numbers)), std::stoi(second(numbers, "40")));
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

constexpr Story kHearsay[] = {
    {"AReplicaWritesWhatAWorkerReportedLast", "load=1 load=2 write=w:2 ok write=w:1",
     "not with what that worker reported last"},
    {"WhatWasReportedSinceTheLockWasTakenMayBeWrittenOrNot", "load=1 lock load=2 store=w:1 store=w:2"},
    // A handshake says nothing of its load.
    {"AWorkerThatWasOnlyReadOfIsNotWrittenAgain",
     "pass_on times=0 write=w:0@other times=1 found=1 shake@other write=w:0@other found=2 hear=w@other write=w:0@other",
     "of which it has no heartbeat itself|:"},
    // In the end it started again and knows nothing.
    {"AWriteAfterACrashIsJudgedByWhatItsReplicaKnew", "hear=w lock down store=w:0 ok store=v:0 write=w:0",
     "worker v, from which it never heard|worker w, from which it never heard"},
    // The clock of the replica may be slow.
    {"ASilentWorkerIsNotWritten", "hear=w +33s write=w:0 ok +3s write=w:0", "too old"},
    {"ASnapshotThatWasReadIsGoodForAWhile", "pass_on +15s choose=a ok times=1 +3750ms choose=b",
     "b: it goes to worker w, which its replica knows from a snapshot only"},
    // It is the older one that was found.
    {"AnOldSnapshotIsGoodForLess", "hear=w write=w:0 +29s finds@other write=w:0 read@other +8s choose=a",
     "that was too old"},
    {"AReplicaThatHearsTheWorkerMeanwhileNeedsNoSnapshot", "pass_on hear=w@other +30s choose=a"},
    {"NoSnapshotIsDatedAhead", "hear=w write=w:0:41 ok write=w:0:42", "ahead of the clock of Redis"},
    {"ASnapshotThatAFaultWroteIsJudgedOfNoReplica", "store=w:0:59@nobody"},
};
using HearsayTold = Told<HearsayTest>;
TEST_P(HearsayTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, HearsayTold, ::testing::ValuesIn(kHearsay), title_of);

TEST_F(HearsayTest, NothingThatAWorkerReportedIsLeftOut) {
    cap::BusPacket packet;
    packet.mutable_heartbeat()->set_worker_id("v");
    packet.mutable_heartbeat()->set_pool("p");
    packet.mutable_heartbeat()->set_region("eu");
    deliver(packet, kReplica);
    write(kReplica, "v", 0);
    EXPECT_THAT(found, ElementsAre(HasSubstr("not with what that worker reported last")));
}

TEST_F(HearsayTest, TheChoiceIsMadeAfterTheAnswerOfPolicy) {
    pass_on();
    grant_lock("cordum:scheduler:job:a", kOther, "a");
    now += 2 * tunables.hydrated_worker_ttl;
    tell(event_of(EventKind::kernel_check, "a", When::answered, kOther));
    set_field("a", "ls_worker", "w", kOther);
    EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
