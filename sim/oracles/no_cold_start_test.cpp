#include "sim/oracles/no_cold_start.h"

#include <fmt/format.h>
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

class NoColdStartTest : public ::testing::Test {
protected:
    void tell(fakes::Event event, fakes::NodeId node = kReplica) {
        event.node = node;
        judge.tell(oracle, event, now);
    }
    void tell(EventKind kind, fakes::NodeId node = kReplica) { tell(testing::event_of(kind, ""), node); }
    void redis(When when, fakes::EventOutcome outcome = fakes::EventOutcome::applied) {
        fakes::Event event = testing::event_of(EventKind::redis, {}, when);
        event.outcome = outcome;
        tell(event);
    }
    void write_snapshot(fakes::NodeId writer = kOther, std::string_view worker = "w", int active = 0) {
        const std::string text = fmt::format(
            R"({{"captured_at": "2026-01-01T00:00:05Z", "topics": {{"job.default": {{"pool": "default"}}}},
                 "workers": [{{"worker_id": "{}", "pool": "default", "active_jobs": {}, "max_parallel_jobs": 4}}]}})",
            worker, active);
        const auto written = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1} + 6s;
        const std::chrono::milliseconds expires = written.time_since_epoch() + tunables.data_ttl / 1ms * 1ms;
        oracle.string_set(writer, "sys:workers:snapshot", nullptr, text, -1, expires.count());
        tell(EventKind::redis, kOther);
    }
    void submit(std::string_view job, std::string_view label = {}) {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id(std::string(job));
        packet.mutable_job_request()->set_topic("job.default");
        if (!label.empty()) (*packet.mutable_job_request()->mutable_labels())[std::string(label)] = "x";
        fakes::Event event = testing::event_of(EventKind::stored, job);
        event.subject = "sys.job.submit";
        event.packet = &packet;
        tell(event, kOther);
    }
    void take_up(std::string_view job) {
        fakes::Event event = testing::event_of(EventKind::lock_acquired, job);
        event.key = "cordum:scheduler:job:";
        tell(event);
    }
    void turn_away(std::string_view job) {
        take_up(job);
        take_effect(job);
    }
    void take_effect(std::string_view job) {
        oracle.hash_set(kReplica, "job:meta:" + std::string(job), "attempts", nullptr, "1");
        redis(When::applied);
    }
    void send(std::string_view job) {
        take_up(job);
        fakes::Event event = testing::state_event(job, "SCHEDULED", "DISPATCHED");
        tell(event);
        oracle.hash_set(kReplica, "job:meta:" + std::string(job), "attempts", nullptr, "1");
        redis(When::applied);
    }
    void hear(std::string_view worker) {
        cap::BusPacket packet;
        packet.mutable_heartbeat()->set_worker_id(std::string(worker));
        fakes::Event event = testing::event_of(EventKind::core_deliver, "");
        event.packet = &packet;
        tell(event);
    }
    void restart() {
        tell(EventKind::node_down);
        tell(EventKind::node_up);
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    NoColdStart oracle{judge, tunables};
    Time now{100s};
};

TEST_F(NoColdStartTest, WhomTheSnapshotNamesIsKnownAtOnce) {  // REG-06
    write_snapshot();
    submit("a");
    restart();
    now += 1s;
    turn_away("a");
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("a: it was turned away for want of a worker by a replica that has just started, "
                                      "and the snapshot names w for job.default")));
}

TEST_F(NoColdStartTest, WhatItAskedBeforeItCrashedIsNotItsStarts) {
    write_snapshot();
    submit("a");
    restart();
    take_effect("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, AJobThatIsSentWasNotTurnedAway) {
    write_snapshot();
    submit("a");
    restart();
    send("a");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 1U);
}

TEST_F(NoColdStartTest, WithoutASnapshotEveryStartIsCold) {  // REG-07
    submit("a");
    restart();
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, TheSnapshotIsReliedOnForAWhileOnly) {
    write_snapshot();
    submit("a");
    restart();
    now += 14s;
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, AnOldSnapshotIsWorthNothing) {
    write_snapshot();
    submit("a");
    now += 25s;
    restart();
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, WhatTheReplicaHearsItselfCountsMore) {
    write_snapshot();
    submit("a");
    restart();
    hear("w");
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, AWorkerThatALaterSnapshotOmitsMayNotHaveBeenRead) {
    write_snapshot();
    submit("a");
    restart();
    write_snapshot(kOther, "another");
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, ALaterSnapshotMayTellOfRoomThatTheReplicaHasNotReadOf) {
    write_snapshot(kOther, "w", 4);
    submit("a");
    restart();
    write_snapshot(kOther, "w", 0);
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, OnlyRoomForAllThatWasTakenUpIsRoom) {
    write_snapshot(kOther, "w", 3);
    submit("a");
    restart();
    take_up("other");  // another job, which may have the one place
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, AReplicaWhoseReadMayHaveFailedMayBeCold) {
    write_snapshot();
    submit("a");
    restart();
    redis(When::answered, fakes::EventOutcome::unknown);
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, AJobThatAsksForMoreThanItsTopicMayHaveNobody) {
    write_snapshot();
    submit("a", "placement.zone");
    restart();
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, WhatAFaultHasWrittenBindsNobody) {
    write_snapshot(fakes::NodeId{});
    submit("a");
    restart();
    turn_away("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NoColdStartTest, OneLookAtTheSnapshotIsNotEnough) {
    const auto look = [this](fakes::EventOutcome outcome) {
        fakes::Event event = testing::event_of(EventKind::redis, {}, When::answered);
        event.command = "GET";
        event.key = "sys:workers:snapshot";
        event.outcome = outcome;
        tell(event);
    };
    judge.number = 1;
    restart();
    look(fakes::EventOutcome::not_applied);
    look(fakes::EventOutcome::applied);
    take_up("a");
    restart();
    look(fakes::EventOutcome::not_applied);
    now += tunables.snapshot_read_timeout;
    take_up("b");
    EXPECT_THAT(judge.found, IsEmpty());
    restart();
    look(fakes::EventOutcome::not_applied);
    now += 1s;
    take_up("c");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("could not read the worker snapshot")));
}

}  // namespace
}  // namespace lockstep::sim
