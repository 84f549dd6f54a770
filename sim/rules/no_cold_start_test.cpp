#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct NoColdStartTest : RuleTest {
    NoColdStartTest() : RuleTest(rules::no_cold_start) { now = Time{100s}; }

    void redis(When when, EventOutcome outcome = EventOutcome::applied) {
        observe(EventKind::redis, {}, {.outcome = outcome}, when);
    }
    /// A second after it was captured.
    void write_snapshot(fakes::NodeId writer = kOther, std::string_view worker = "w", int active = 0) {
        keys.act_for(writer);
        keys.set_string("sys:workers:snapshot",
                        fmt::format(R"({{"captured_at":"1970-01-01T00:01:39Z","topics":{{"job.t":{{"pool":"p"}}}},)"
                                    R"("workers":[{{"worker_id":"{}","pool":"p","active_jobs":{},)"
                                    R"("max_parallel_jobs":4}}]}})",
                                    worker, active),
                        engine::to_millis(100s + tunables.data_ttl));
        redis(When::applied);
    }
    void submit(std::string_view job, std::string_view label = {}) {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id(std::string(job));
        packet.mutable_job_request()->set_topic("job.t");
        if (!label.empty()) (*packet.mutable_job_request()->mutable_labels())[std::string(label)] = "x";
        observe(EventKind::stored, job, {.subject = "sys.job.submit", .message_id = "jobreq:", .packet = &packet},
                When::applied, kOther);
    }
    void take(std::string_view job) { grant_lock("cordum:scheduler:job:", kReplica, job); }
    void count_try(const std::string& job) {
        by_command(kReplica, {"EVALSHA"}, [&] { set_field(job, "attempts", "1"); });
    }
    void turn_away(const std::string& job) {
        take(job);
        count_try(job);
    }
    void restart() {
        befall(EventKind::node_down, kReplica);
        befall(EventKind::node_up, kReplica);
    }
    void begin_fault(std::string_view name) { observe(EventKind::fault, "", {.name = name}); }
    void start_with_snapshot(std::string_view job = "a") {
        write_snapshot();
        submit(job);
        restart();
    }
};

TEST_F(NoColdStartTest, AWorkerInTheSnapshotIsKnownAtOnce) {  // REG-06
    start_with_snapshot();
    now += 1s;
    turn_away("a");
    EXPECT_THAT(found, ElementsAre("a: it was turned away for want of a worker by a replica that has just started, and "
                                   "the snapshot names w for job.t"));
}

TEST_F(NoColdStartTest, WhatWasAskedBeforeACrashIsNotOfTheStart) {
    write_snapshot();
    submit("a");
    take("a");
    restart();
    count_try("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, AJobThatIsSentIsNotTurnedAway) {
    start_with_snapshot();
    take("a");
    by_command(kReplica, {"EVALSHA"}, [this] {
        set_field("a", "state", "DISPATCHED");
        set_field("a", "attempts", "1");
    });
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(NoColdStartTest, ATryThatIsWrittenAgainIsNoOther) {
    start_with_snapshot();
    set_field("a", "attempts", "1", kOther);
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, WithoutASnapshotEveryStartIsCold) {  // REG-07
    submit("a");
    restart();
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, ASnapshotIsGoodForAWhile) {
    start_with_snapshot();
    now += 14s;
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, AnOldSnapshotIsGoodForNothing) {
    write_snapshot();
    submit("a");
    now += 25s;
    restart();
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, AWorkerThatTheReplicaHearsItselfIsNotJudged) {
    start_with_snapshot();
    hear("w");
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, AWorkerThatALaterSnapshotOmitsMayNotHaveBeenRead) {
    start_with_snapshot();
    write_snapshot(kOther, "another");
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, TheLeastRoomThatASnapshotSaidCounts) {
    write_snapshot(kOther, "w", 4);
    submit("a");
    restart();
    write_snapshot(kOther, "w", 0);
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, TheRoomIsForAllJobsThatTheReplicaHasTaken) {
    write_snapshot(kOther, "w", 3);
    submit("a");
    restart();
    take("other");
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, AReplicaWhoseCallFailedMayBeCold) {
    start_with_snapshot();
    redis(When::answered, EventOutcome::unknown);
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
    start_with_snapshot("b");
    befall(EventKind::connection_broken, kReplica);
    turn_away("b");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, NothingIsJudgedAfterNewPools) {
    start_with_snapshot();
    begin_fault("config.update");
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, NothingIsJudgedAfterAClockWasSet) {
    start_with_snapshot();
    begin_fault("clock_jump");
    turn_away("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, AJobThatAsksForMoreThanItsTopicIsNotJudged) {
    write_snapshot();
    submit("a", "placement.zone");
    submit("b");
    submit("b", "placement.zone");
    restart();
    turn_away("a");
    turn_away("b");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, ASnapshotThatIsLostOrChangedByAFaultIsNoneAnyMore) {
    write_snapshot({});
    submit("a");
    restart();
    turn_away("a");
    start_with_snapshot("b");
    evict("sys:workers:snapshot");
    write_snapshot();
    turn_away("b");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoColdStartTest, AReplicaTriesToReadTheSnapshotForAWhile) {
    const auto look = [this](EventOutcome outcome) {
        observe(EventKind::redis, {}, {.outcome = outcome, .command = "GET", .key = "sys:workers:snapshot"},
                When::answered);
    };
    restart();
    look(EventOutcome::not_applied);
    look(EventOutcome::applied);
    take("a");
    restart();
    look(EventOutcome::not_applied);
    now += tunables.snapshot_read_timeout;
    take("b");
    EXPECT_THAT(found, IsEmpty());
    restart();
    look(EventOutcome::not_applied);
    now += 1s;
    take("c");
    take("d");
    EXPECT_THAT(found,
                ElementsAre(HasSubstr("c: it is taken 1000 ms after the start of a replica that could not read")));
    EXPECT_EQ(times_exercised(), 2U);
}

}  // namespace
}  // namespace lockstep::sim
