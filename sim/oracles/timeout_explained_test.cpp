// What explains that a job waits for its limit, and what does not.
#include "sim/oracles/timeout_explained.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::NodeId;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;
using testing::kReplica;
using testing::kWorker;

class TimeoutExplainedTest : public ::testing::Test {
protected:
    TimeoutExplainedTest() {
        beat();
        now += 5s;
    }

    void tell(EventKind kind, NodeId node, std::string_view job = {}, std::string_view name = {}) {
        fakes::Event event = testing::event_of(kind, job);
        event.node = node;
        event.name = name;
        judge.tell(oracle, event, now);
    }
    void beat() { tell(EventKind::heartbeat, kWorker, {}, "w"); }
    /// Something unrelated happens, so that what is due is judged.
    void wait(engine::Duration duration) {
        now += duration;
        beat();
    }
    void move(std::string_view to, NodeId by = kReplica) {
        fakes::Event event = testing::state_event("J", state, to);
        event.node = by;
        judge.tell(oracle, event, now);
        state = to;
    }
    void take_up() { tell(EventKind::lock_acquired, kReplica, "J"); }
    void dispatch(std::string_view worker = "w") {
        take_up();
        oracle.hash_set(kReplica, "job:meta:J", "ls_worker", nullptr, worker);
        move("DISPATCHED");
    }
    void arrive() {
        fakes::Event event = testing::event_of(EventKind::core_deliver, "J");
        event.node = kWorker;
        event.subject = "worker.w.jobs";
        judge.tell(oracle, event, now);
    }
    void message(EventKind kind, std::uint64_t sequence = 1) {
        fakes::Event event = testing::event_of(kind, "J", kind == EventKind::deliver ? When::applied : When::before);
        event.node = kReplica;
        event.name = "dur_cordum-scheduler__sys_job_submit";
        event.sequence = sequence;
        judge.tell(oracle, event, now);
    }
    void stored() {
        fakes::Event event = testing::event_of(EventKind::publish, "J", When::answered);
        event.node = kReplica;
        event.subject = "worker.w.jobs";
        judge.tell(oracle, event, now);
    }
    void fault(std::string_view name, std::string_view phase) {
        fakes::Event event = testing::event_of(EventKind::fault, "");
        event.name = name;
        event.from = phase;
        judge.tell(oracle, event, now);
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    TimeoutExplained oracle{judge, tunables};
    Time now{10s};
    std::string state;
};

TEST_F(TimeoutExplainedTest, WhoeverKnowsThatADispatchIsStoredKeepsTheMessageUntilTheJobIsRunning) {
    message(EventKind::deliver);
    dispatch();
    stored();
    fault("redis.errors", "begin");
    message(EventKind::ack);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J: its message is acknowledged by whoever has sent it")));
}

TEST_F(TimeoutExplainedTest, AMessageMayGoOnceTheJobIsRunningOrNobodyKnowsWhetherItWasSent) {
    message(EventKind::deliver);
    dispatch();
    message(EventKind::ack);
    move("SUCCEEDED");
    message(EventKind::deliver);
    dispatch();
    stored();
    move("RUNNING");
    message(EventKind::ack);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, AnotherMessageAboutItMayGoAndADeadReplicaKnowsNothing) {
    message(EventKind::deliver, 1);
    message(EventKind::deliver, 2);
    dispatch();
    stored();
    message(EventKind::ack, 2);
    tell(EventKind::node_down, kReplica);
    tell(EventKind::node_up, kReplica);
    message(EventKind::deliver, 1);
    message(EventKind::ack, 1);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, AJobThatItsWorkerGetsAndThatBecomesRunningIsInOrder) {
    dispatch();
    arrive();
    move("RUNNING");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 2U);
}

TEST_F(TimeoutExplainedTest, AJobThatStaysDispatchedWhileNothingIsDisturbedIsNot) {
    dispatch();
    arrive();
    wait(1min);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J: it has been DISPATCHED for 10000 ms and is not RUNNING")));
}

TEST_F(TimeoutExplainedTest, AJobThatItsWorkerNeverGotIsNot) {
    dispatch();
    move("RUNNING");
    wait(1min);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J: it has been sent to w for 10000 ms, which has not got it")));
}

TEST_F(TimeoutExplainedTest, AResultOrAnEndThatComesBeforeIsInOrder) {
    dispatch();
    arrive();
    move("SUCCEEDED");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, ADispatchThatIsTakenBackIsNotWaitedFor) {
    dispatch();
    move("SCHEDULED");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, WhatBefallsItsReplicaOrTheServersExplainsIt) {
    dispatch();
    tell(EventKind::node_down, kReplica);
    wait(1min);
    tell(EventKind::node_up, kReplica);
    move("SUCCEEDED");
    now += 1s;
    take_up();
    fault("redis.latency", "begin");
    now += 1s;
    fault("redis.latency", "end");
    oracle.hash_set(kReplica, "job:meta:J", "ls_worker", nullptr, "w");
    move("DISPATCHED");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty()) << "it was amiss while its handler had the lock";
    EXPECT_EQ(oracle.exercised(), 0U);
}

TEST_F(TimeoutExplainedTest, WhatBefallsAnotherReplicaOrComesLaterExplainsNothing) {
    dispatch();
    arrive();
    tell(EventKind::node_down, kOther);
    now += 20s;
    fault("redis.errors", "begin");
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(TimeoutExplainedTest, ACallWithoutAnAnswerExplainsIt) {
    dispatch();
    fakes::Event event = testing::event_of(EventKind::publish, "J", When::answered);
    event.node = kReplica;
    event.outcome = EventOutcome::unknown;
    judge.tell(oracle, event, now);
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, AWorkerThatWasAwayExplainsThatItHasNotGotIt) {
    dispatch();
    move("RUNNING");
    tell(EventKind::paused, kWorker);
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, SoDoesOneThatHasNotAnnouncedItselfSinceItLostItsConnection) {
    fakes::Event broken = testing::event_of(EventKind::connection_broken, "");
    broken.node = kWorker;
    judge.tell(oracle, broken, now);
    now += 5s;
    dispatch();
    move("RUNNING");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
    move("SUCCEEDED");
    now += 1s;
    dispatch();
    move("RUNNING");
    wait(1min);
    EXPECT_EQ(judge.found.size(), 1U) << "it has been heard since";
}

TEST_F(TimeoutExplainedTest, AJobThatGoesToItsTopicHasNoWorkerToGetIt) {
    dispatch("");
    move("RUNNING");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, APowerCutMayTakeTheOnlyMessageOfAJobThatWaits) {
    const auto asked = [this] {
        fakes::Event event = testing::event_of(EventKind::stored, "J");
        event.subject = "sys.job.submit";
        judge.tell(oracle, event, now);
    };
    const auto forgotten = [this] {
        move("PENDING");
        take_up();
        wait(10min);
        move("TIMEOUT");
    };
    asked();
    wait(1s);
    fakes::Event cut = testing::event_of(EventKind::fault, "");
    cut.name = "nats.power_cut";
    judge.tell(oracle, cut, now);
    wait(1min);
    forgotten();
    EXPECT_THAT(judge.found, IsEmpty());
    asked();
    forgotten();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has tried it for 600000 ms")));
}

TEST_F(TimeoutExplainedTest, AJobThatWaitsAndIsNotTriedAnyMoreIsForgotten) {
    move("PENDING");
    take_up();
    wait(30s);
    take_up();
    wait(30s);
    move("TIMEOUT");
    EXPECT_THAT(judge.found, IsEmpty());
    move("PENDING");
    take_up();
    wait(10min);
    move("TIMEOUT");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has tried it for 600000 ms")));
}

TEST_F(TimeoutExplainedTest, AJobOfItsTenantsLineOrAKernelThatIsAwayMayLeaveAJobWaiting) {
    move("PENDING");
    take_up();
    fault("kernel.outage", "begin");
    wait(10min);
    fault("kernel.outage", "end");
    move("TIMEOUT");
    move("PENDING");
    take_up();
    oracle.zset_set(kReplica, "lockstep:tenant:waiting:t", "J", nullptr, 1);
    wait(10min);
    move("TIMEOUT");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, WhatRedisHasForgottenIsNotJudged) {
    dispatch();
    testing::take_back(judge, oracle, "J");
    wait(1min);
    dispatch();
    judge.key_removed(oracle, {}, "job:meta:J", fakes::redis::Removal::evicted, {}, 0);
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, WhatRedisHasKeptIsJudgedOn) {
    dispatch();
    testing::take_back(judge, oracle, "another");
    wait(1min);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J: it has been DISPATCHED for")));
}

class LookedForTest : public TimeoutExplainedTest {
protected:
    /// While it is being published NATS goes, and comes back with another process, or the same.
    void dispatch_while_nats_restarts(engine::Duration away = 1s) {
        dispatch();
        fakes::Event in_stream = testing::event_of(EventKind::stored, "J");
        in_stream.subject = "worker.w.jobs";
        judge.tell(oracle, in_stream, now);
        tell(EventKind::node_down, Topology::kNats);
        now += away;
        tell(EventKind::node_up, Topology::kNats);
    }
};

TEST_F(LookedForTest, WhatTheStreamHasIsFound) {
    dispatch_while_nats_restarts();
    wait(5min);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the stream has its dispatch")));
}

TEST_F(LookedForTest, AnEndIsAsGood) {
    dispatch_while_nats_restarts();
    now += 20s;
    move("SUCCEEDED");
    wait(5min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LookedForTest, ANatsThatStaysAwayOrAReplicaThatDiesExcusesIt) {
    dispatch_while_nats_restarts(95s);
    wait(5min);
    EXPECT_THAT(judge.found, IsEmpty());
    move("SCHEDULED");
    dispatch_while_nats_restarts();
    tell(EventKind::node_down, kReplica);
    wait(5min);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
