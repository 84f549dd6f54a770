#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct NoColdStartTest : RuleTest {
    NoColdStartTest() : RuleTest(rules::no_cold_start) {
        now = Time{100s};
        define({
            {"snapshot",
             [this](auto& of) { write_snapshot(kOther, of.empty() ? "w" : first(of), std::stoi(second(of, "0"))); }},
            {"false_snapshot", [this](auto&) { write_snapshot({}); }},
            {"submit", [this](auto& of) { submit(first(of), second(of)); }},
            {"start", [this](auto& job) { start_with_snapshot(job.empty() ? "a" : job); }},
            {"restart", [this](auto&) { restart(); }},
            {"take", [this](auto& job) { take(job); }},
            {"try", [this](auto& job) { count_try(job); }},
            {"away", [this](auto& job) { turn_away(job); }},
            {"sent",
             [this](auto&) {
                 by_command(kReplica, {"EVALSHA"},
                            [&] { set_field("a", "state", "DISPATCHED"), set_field("a", "attempts", "1"); });
             }},
            {"tried", [this](auto&) { set_field("a", "attempts", "1", kOther); }},
            {"unanswered", [this](auto&) { redis(When::answered, EventOutcome::unknown); }},
            {"broken", [this](auto&) { befall(EventKind::connection_broken, by); }},
        });
    }

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
    void start_with_snapshot(std::string_view job = "a") {
        write_snapshot();
        submit(job);
        restart();
    }
};

constexpr Story kColdStarts[] = {
    // REG-06
    {"AWorkerInTheSnapshotIsKnownAtOnce", "start +1s away=a",
     "a: it was turned away for want of a worker by a replica that has just started, and the snapshot names w for "
     "job.t"},
    {"WhatWasAskedBeforeACrashIsNotOfTheStart", "snapshot submit=a take=a restart try=a"},
    {"AJobThatIsSentIsNotTurnedAway", "start take=a sent times=1"},
    {"ATryThatIsWrittenAgainIsNoOther", "start tried away=a"},
    // REG-07
    {"WithoutASnapshotEveryStartIsCold", "submit=a restart away=a"},
    {"ASnapshotIsGoodForAWhile", "start +14s away=a"},
    {"AnOldSnapshotIsGoodForNothing", "snapshot submit=a +25s restart away=a"},
    {"AWorkerThatTheReplicaHearsItselfIsNotJudged", "start hear=w away=a"},
    {"AWorkerThatALaterSnapshotOmitsMayNotHaveBeenRead", "start snapshot=another away=a"},
    {"TheLeastRoomThatASnapshotSaidCounts", "snapshot=w:4 submit=a restart snapshot=w:0 away=a"},
    {"TheRoomIsForAllJobsThatTheReplicaHasTaken", "snapshot=w:3 submit=a restart take=other away=a"},
    {"AReplicaWhoseCallFailedMayBeCold", "start unanswered away=a start=b broken away=b"},
    {"NothingIsJudgedAfterNewPools", "start fault=config.update away=a"},
    {"NothingIsJudgedAfterAClockWasSet", "start fault=clock_jump away=a"},
    {"AJobThatAsksForMoreThanItsTopicIsNotJudged",
     "snapshot submit=a:placement.zone submit=b submit=b:placement.zone restart away=a away=b"},
    {"ASnapshotThatIsLostOrChangedByAFaultIsNoneAnyMore",
     "false_snapshot submit=a restart away=a start=b evict=sys:workers:snapshot snapshot away=b"},
};
using ColdStartsTold = Told<NoColdStartTest>;
TEST_P(ColdStartsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, ColdStartsTold, ::testing::ValuesIn(kColdStarts), title_of);

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
