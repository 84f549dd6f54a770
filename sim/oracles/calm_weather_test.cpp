// What nobody does twice while nothing is disturbed, and what has its reason.
#include "sim/oracles/calm_weather.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using engine::Duration;
using fakes::EventKind;
using fakes::NodeId;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;
using testing::kReplica;
using testing::kWorker;

constexpr std::string_view kSubmissions = "dur_cordum-scheduler__sys_job_submit";

class CalmWeatherTest : public ::testing::Test {
protected:
    void tell(EventKind kind, NodeId node, std::string_view job = "J", When when = When::applied) {
        fakes::Event event = testing::event_of(kind, job, when);
        event.node = node;
        if (kind == EventKind::heartbeat) event.name = "w";
        judge.tell(oracle, event, now);
    }
    void deliver(std::uint64_t sequence = 1, NodeId node = kReplica) {
        ++deliveries;
        arrive(sequence, node);
    }
    void arrive(std::uint64_t sequence = 1, NodeId node = kReplica) {
        fakes::Event event = testing::event_of(EventKind::deliver, "J");
        event.node = node;
        event.name = kSubmissions;
        event.sequence = sequence;
        event.number = deliveries;
        judge.tell(oracle, event, now);
    }
    void answer(EventKind kind, Duration delay = {}, std::uint64_t sequence = 1, NodeId node = kReplica,
                When when = When::before) {
        fakes::Event event = testing::event_of(kind, "J", when);
        event.outcome = when == When::applied ? fakes::EventOutcome::applied : fakes::EventOutcome::none;
        event.node = node;
        event.name = kSubmissions;
        event.sequence = sequence;
        event.number = delay.count();
        judge.tell(oracle, event, now);
    }
    void move(std::string_view from, std::string_view to, NodeId by = kReplica) {
        fakes::Event event = testing::state_event("J", from, to);
        event.node = by;
        judge.tell(oracle, event, now);
    }
    void ask() { tell(EventKind::kernel_check, kReplica, "J", When::before); }
    void postpone() { oracle.hash_set(kReplica, "job:meta:J", "ls_next_attempt_at", nullptr, "1"); }
    void disturb(std::string_view fault) {
        fakes::Event event = testing::event_of(EventKind::fault, "");
        event.name = fault;
        event.from = "begin";
        judge.tell(oracle, event, now);
        event.from = "end";
        judge.tell(oracle, event, now);
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    CalmWeather oracle{judge, tunables};
    Time now{100s};
    std::int64_t deliveries = 0;
};

TEST_F(CalmWeatherTest, AMessageInHandIsNotDeliveredAgain) {
    deliver();
    now += 10min;
    deliver(1, kOther);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("message 1 is delivered again 600000 ms after")));
}

TEST_F(CalmWeatherTest, WhatIsHandedBackWaitsUnlessItsReplicaIsToEnd) {
    deliver();
    answer(EventKind::nak);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is handed back to come again at once")));
    judge.found.clear();
    deliver();
    fakes::Event stop = testing::event_of(EventKind::fault, "");
    stop.name = "stop";
    stop.from = "begin";
    stop.node = kReplica;
    judge.tell(oracle, stop, now);
    answer(EventKind::nak);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, AWordAboutALostMessageCountsForTheOneThatHasItsNumber) {
    deliver();
    fakes::Event late = testing::event_of(EventKind::nak, "lost");
    late.outcome = fakes::EventOutcome::applied;
    late.name = kSubmissions;
    late.sequence = 1;
    late.number = Duration{1s}.count();
    judge.tell(oracle, late, now);
    now += 1s;
    deliver(1, kOther);
    EXPECT_THAT(judge.found, IsEmpty());
    now += 1s;
    deliver(1, kReplica);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("message 1 is delivered again")));
}

TEST_F(CalmWeatherTest, NoConnectionBreaksByItself) {
    fakes::Event broken = testing::event_of(EventKind::connection_broken, "");
    broken.node = kReplica;
    broken.peer = Topology::kNats;
    disturb("nats.lost_acks");
    judge.tell(oracle, broken, now);
    EXPECT_THAT(judge.found, IsEmpty());
    now += 1min;
    judge.tell(oracle, broken, now);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its connection to NATS breaks")));
}

TEST_F(CalmWeatherTest, OneThatWasHandedBackOrWhoseReplicaDiedIs) {
    deliver();
    answer(EventKind::nak, 3s);
    now += 3s;
    deliver();
    tell(EventKind::node_down, kReplica);
    now += 10min;
    deliver(1, kOther);
    answer(EventKind::ack, {}, 1, kOther);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, AReplicaThatWasFrozenWithAMessageHandsItBackFromUnderAnother) {
    deliver(1, kOther);
    tell(EventKind::paused, kOther);
    now += 10min;
    deliver(1, kReplica);
    tell(EventKind::resumed, kOther);
    now += 1s;
    answer(EventKind::nak, tunables.retry_delay_busy, 1, kOther);
    now += 1s;
    deliver(1, kOther);
    answer(EventKind::nak, tunables.retry_delay_busy, 1, kOther);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, AWordThatALinkHasHeldUpMakesOneDeliveryMoreDue) {
    deliver();
    answer(EventKind::nak, 3s);
    now += 3min;
    disturb("partition");
    answer(EventKind::nak, 3s, 1, kReplica, When::applied);
    now += 2ms;
    deliver();
    now += 3s;
    deliver();
    EXPECT_THAT(judge.found, IsEmpty()) << "the first had left the server before";
    now += 1s;
    deliver();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("message 1 is delivered again 1000 ms after")));
}

TEST_F(CalmWeatherTest, TwoWordsThatReachTheServerBeforeWhatTheFirstCausesArrivesMakeTwoDeliveriesDue) {
    deliver();
    deliver(1, kOther);
    judge.found.clear();
    answer(EventKind::nak, {}, 1, kReplica, When::applied);
    answer(EventKind::nak, {}, 1, kOther, When::applied);
    now += 100ms;
    deliver();
    now += 60ms;
    deliver();
    EXPECT_THAT(judge.found, IsEmpty());
    now += 60ms;
    deliver();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("message 1 is delivered again 60 ms after")));
}

TEST_F(CalmWeatherTest, WhatALinkHasHeldUpMayComeTogetherWithWhatWasSentAfterIt) {
    disturb("partition");
    now += 2ms;
    deliver();
    deliver();
    EXPECT_THAT(judge.found, IsEmpty()) << "the first had left the server an ack wait before";
    now += 2s;
    deliver();
    EXPECT_THAT(judge.found, IsEmpty()) << "so had the second";
    now += 2s;
    deliver();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("message 1 is delivered again 2000 ms after")));
}

TEST_F(CalmWeatherTest, ACopyThatTheLinkHasMadeOfADeliveryIsNoneOfTheServer) {
    deliver();
    now += 1ms;
    arrive();
    EXPECT_THAT(judge.found, IsEmpty());
    deliver();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("message 1 is delivered again 0 ms after")));
}

TEST_F(CalmWeatherTest, ADeliveryThatWasOvertakenByLaterOnesIsNotOneMore) {
    deliveries = 4;
    arrive();
    now += 1ms;
    deliveries = 1;
    arrive();
    EXPECT_THAT(judge.found, IsEmpty());
    deliveries = 5;
    arrive();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("message 1 is delivered again 0 ms after")));
}

TEST_F(CalmWeatherTest, ALockDoesNotRunOutUnderItsHolder) {
    tell(EventKind::lock_acquired, kReplica);
    now += 1min;
    tell(EventKind::lock_expired, Topology::kRedis);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J: its lock runs out 60000 ms after it was taken")));
}

TEST_F(CalmWeatherTest, AFrozenHoldersLockAndAGatewaysLockDo) {
    tell(EventKind::lock_acquired, kReplica);
    tell(EventKind::paused, kReplica);
    now += 1min;
    tell(EventKind::resumed, kReplica);
    tell(EventKind::lock_expired, Topology::kRedis);
    tell(EventKind::lock_acquired, Topology::kGateway);
    now += 1min;
    tell(EventKind::lock_expired, Topology::kRedis);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, ALockThatACallOfADisturbedTimeHasTakenLateIsHeldByNobody) {
    disturb("redis.latency");
    now += 1s;
    tell(EventKind::lock_acquired, kReplica);
    now += 1min;
    tell(EventKind::lock_expired, Topology::kRedis);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, NobodyComplainsOfServersThatAnswer) {
    deliver();
    answer(EventKind::nak, tunables.retry_delay_store);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it is handed back for 1000 ms, as if a server did not answer")));
}

TEST_F(CalmWeatherTest, ServersThatDoNotAnswerAreComplainedOf) {
    deliver();
    disturb("redis.errors");
    answer(EventKind::nak, tunables.retry_delay_store);
    now += 1s;
    deliver();
    postpone();
    answer(EventKind::nak, tunables.retry_delay_store);
    EXPECT_THAT(judge.found, IsEmpty()) << "what is left of its own delay may be as long";
}

TEST_F(CalmWeatherTest, AJobThatNobodyElseHasIsNotInOtherHands) {
    deliver();
    tell(EventKind::lock_acquired, kReplica);
    tell(EventKind::lock_released, kReplica);
    answer(EventKind::nak, tunables.retry_delay_busy);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("as a job in other hands, and nobody else has been at it")));
}

TEST_F(CalmWeatherTest, WhatWasInHandWhenNatsLostPowerMayBeInHandStill) {
    deliver(1, kOther);
    deliver(2);
    disturb("nats.power_cut");
    now += 10min;
    deliver(2);
    answer(EventKind::nak, tunables.retry_delay_busy, 2);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, OneWhoseLockHasOutlivedAFailoverIsInOtherHandsUntilTheLockMoves) {
    deliver();
    fakes::redis::Keyspace keys;
    keys.set_string("cordum:scheduler:job:J", "token", fakes::redis::kNever);
    judge.restored(oracle, keys);
    answer(EventKind::nak, tunables.retry_delay_busy);
    EXPECT_THAT(judge.found, IsEmpty());
    tell(EventKind::lock_expired, kReplica);
    now += tunables.retry_delay_busy;
    deliver();
    tell(EventKind::lock_acquired, kReplica);
    tell(EventKind::lock_released, kReplica);
    answer(EventKind::nak, tunables.retry_delay_busy);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("as a job in other hands, and nobody else has been at it")));
}

TEST_F(CalmWeatherTest, AReplicaMayReplayAJobThatHasWaitedLongWhenItsMessageComes) {
    move("", "PENDING", Topology::kGateway);
    now += tunables.pending_age - 1s;
    deliver();
    tell(EventKind::lock_acquired, kReplica);
    answer(EventKind::nak, tunables.retry_delay_busy);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("as a job in other hands, and nobody else has been at it")));
    tell(EventKind::lock_released, kReplica);
    now += 1s;
    deliver();
    tell(EventKind::lock_acquired, kReplica);
    answer(EventKind::nak, tunables.retry_delay_busy);
    now += 1s;
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(CalmWeatherTest, AReplicaMayHaveReplayedAJobAndSettledItBeforeItsMessageIsHandedBack) {
    move("", "PENDING", Topology::kGateway);
    now += tunables.pending_age;
    deliver();
    tell(EventKind::lock_acquired, kReplica);
    move("PENDING", "APPROVAL_REQUIRED");
    tell(EventKind::lock_released, kReplica);
    answer(EventKind::nak, tunables.retry_delay_busy);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, ALockASecondMessageOrAUserAreOtherHands) {
    tell(EventKind::lock_acquired, kOther);
    deliver();
    answer(EventKind::nak, tunables.retry_delay_busy);
    tell(EventKind::lock_released, kOther);
    deliver();
    deliver(2, kOther);
    answer(EventKind::ack, {}, 2, kOther);
    answer(EventKind::nak, tunables.retry_delay_busy);
    now += 1s;
    deliver();
    move("PENDING", "CANCELLED", Topology::kOperator);
    answer(EventKind::nak, tunables.retry_delay_busy);
    now += 1s;
    deliver();
    move("PENDING", "TIMEOUT");
    answer(EventKind::nak, tunables.retry_delay_busy);
    EXPECT_THAT(judge.found, IsEmpty());
}

// Its last word is still on its way, and the one before is too old.
TEST_F(CalmWeatherTest, AWorkerThatSpeaksTooSeldomMayBeTakenForASilentOne) {
    tunables.worker_ttl = 5s;
    oracle.hash_set(kReplica, "job:meta:J", "ls_worker", nullptr, "w");
    tell(EventKind::heartbeat, kWorker);
    now += 5s;
    tell(EventKind::heartbeat, kWorker);
    tell(EventKind::lock_acquired, kReplica);
    move("SCHEDULED", "DISPATCHED");
    move("DISPATCHED", "SCHEDULED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, ADispatchToALivingWorkerIsNotTakenBack) {
    oracle.hash_set(kReplica, "job:meta:J", "ls_worker", nullptr, "w");
    tell(EventKind::heartbeat, kWorker);
    tell(EventKind::lock_acquired, kReplica);
    move("SCHEDULED", "DISPATCHED");
    now += 1s;
    move("DISPATCHED", "SCHEDULED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its dispatch to w is taken back")));
}

TEST_F(CalmWeatherTest, OneToASilentWorkerOrThatCouldNotBeSentIs) {
    oracle.hash_set(kReplica, "job:meta:J", "ls_worker", nullptr, "w");
    tell(EventKind::heartbeat, kWorker);
    now += tunables.worker_ttl;
    tell(EventKind::lock_acquired, kReplica);
    move("SCHEDULED", "DISPATCHED");
    move("DISPATCHED", "SCHEDULED");
    tell(EventKind::heartbeat, kWorker);
    now += 1s;
    move("SCHEDULED", "DISPATCHED");
    disturb("nats.publish_errors");
    move("DISPATCHED", "SCHEDULED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, PolicyIsNotAskedAgainForNothing) {
    deliver();
    ask();
    EXPECT_THAT(judge.found, IsEmpty());
    ask();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("policy is asked about it 2 times")));
}

TEST_F(CalmWeatherTest, PolicyIsAskedAgainAfterEachDelayTurnDecisionOrDelivery) {
    deliver();
    ask();
    postpone();
    ask();
    oracle.zset_set(kReplica, "lockstep:tenant:waiting:t", "J", nullptr, 1);
    ask();
    oracle.zset_removed(kReplica, "lockstep:tenant:waiting:t", "J", 1);
    ask();
    tell(EventKind::approve, Topology::kOperator, "J", When::before);
    ask();
    deliver(2);
    ask();
    now += tunables.pending_age;
    ask();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, WhatGoesWrongCostsOneQuestionMoreEachTime) {
    deliver();
    ask();
    disturb("kernel.outage");
    ask();
    EXPECT_THAT(judge.found, IsEmpty()) << "somebody may have had to ask again";
    fakes::Event unanswered = testing::event_of(EventKind::redis, "J", When::answered);
    unanswered.outcome = fakes::EventOutcome::unknown;
    judge.tell(oracle, unanswered, now);
    ask();
    ask();
    EXPECT_THAT(judge.found, IsEmpty());
    ask();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("policy is asked about it 5 times, and there were 4 occasions to")));
}

TEST_F(CalmWeatherTest, ARollbackMayAskOnceMoreAboutACompensation) {
    cap::BusPacket packet;
    packet.set_sender_id("cordum-scheduler-saga");
    packet.mutable_job_request()->set_job_id("J");
    fakes::Event event = testing::event_of(EventKind::deliver, "J");
    event.node = kReplica;
    event.name = kSubmissions;
    event.sequence = 1;
    event.packet = &packet;
    judge.tell(oracle, event, now);
    ask();
    ask();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, WhatRedisHasForgottenIsNotJudged) {
    deliver();
    ask();
    testing::take_back(judge, oracle, "J");
    ask();
    deliver(2);
    ask();
    judge.key_removed(oracle, {}, "job:meta:J", fakes::redis::Removal::evicted, {}, 0);
    ask();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CalmWeatherTest, WhatRedisHasKeptIsJudgedOn) {
    deliver();
    ask();
    testing::take_back(judge, oracle, "another");
    ask();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("policy is asked about it 2 times")));
}

TEST_F(CalmWeatherTest, TheLockOfARollbackOrASnapshotDoesNotRunOutEither) {
    const auto tell_of = [this](EventKind kind, std::string_view key, NodeId node) {
        fakes::Event event = testing::event_of(kind, "");
        event.node = node;
        event.key = key;
        judge.tell(oracle, event, now);
    };
    for (const std::string_view key :
         {"lockstep:saga:lock:r1", "cordum:scheduler:snapshot:writer", "cordum:reconciler:default",
          "cordum:wf:delay:poller", "cordum:workflow-engine:reconciler:default"}) {
        tell_of(EventKind::lock_acquired, key, kReplica);
        now += 40s;
        tell_of(EventKind::lock_expired, key, Topology::kRedis);
    }
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("lockstep:saga:lock:r1 runs out"), HasSubstr("snapshot:writer runs out")));

    tell_of(EventKind::lock_acquired, "lockstep:saga:lock:r1", kReplica);
    tell(EventKind::node_down, kReplica, "");
    now += 40s;
    tell_of(EventKind::lock_expired, "lockstep:saga:lock:r1", Topology::kRedis);
    EXPECT_EQ(judge.found.size(), 2U);
}

TEST_F(CalmWeatherTest, ARollbackThatTakesAllItsTimeIsNotOneThatHasBeenLeft) {
    cap::BusPacket packet;
    packet.set_sender_id("cordum-scheduler-saga");
    for (const std::string_view key : {"lockstep:saga:lock:r1", "saga:travel:lock"}) {
        const auto tell_of = [&](EventKind kind, NodeId node, std::string_view job = {}) {
            fakes::Event event = testing::event_of(kind, job, When::before);
            event.node = node;
            event.key = key;
            event.packet = &packet;
            judge.tell(oracle, event, now);
        };
        for (const EventKind undoing : {EventKind::publish, EventKind::kernel_check}) {
            for (const engine::Duration since_the_last : {1s, 60s}) {
                judge.found.clear();
                tell_of(EventKind::lock_acquired, kReplica);
                now += 10s;
                tell_of(undoing, kReplica, "comp-1");
                now += since_the_last;
                tell_of(EventKind::lock_expired, Topology::kRedis);
                EXPECT_EQ(judge.found.size(), since_the_last > 30s ? 1U : 0U) << key;
            }
        }
    }
}

/// A heartbeat that NATS has taken, and who hears it.
class HeartbeatsForEverybody : public CalmWeatherTest {
protected:
    void about_heartbeat(EventKind kind, NodeId node, std::string_view payload) {
        fakes::Event event = testing::event_of(kind, {});
        event.subject = "sys.heartbeat";
        event.node = node;
        event.payload = payload;
        judge.tell(oracle, event, now);
    }
    void beat(std::string_view payload, std::initializer_list<NodeId> heard_by) {
        about_heartbeat(EventKind::stored, kWorker, payload);
        for (const NodeId node : heard_by) about_heartbeat(EventKind::core_deliver, node, payload);
    }
    void wait() {
        now += 10s;
        tell(EventKind::timer, {});
    }
};

TEST_F(HeartbeatsForEverybody, OneThatAReplicaMissesAlarms) {
    beat("first", {kReplica, kOther});
    now += 10s;
    beat("second", {kOther});
    wait();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it has heard heartbeats and not this one")));
}

TEST_F(HeartbeatsForEverybody, OfThoseInTheSameWordsNobodyKnowsWhichWasMissed) {
    beat("first", {kReplica, kOther});
    now += 1s;
    disturb("nats.drop_core");
    beat("again", {kOther});
    for (int i = 0; i < 20; ++i) {
        now += 1s;
        beat("again", {kReplica, kOther});
    }
    wait();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(HeartbeatsForEverybody, WhoListensToNoneOrWasDisturbedMayMissThem) {
    beat("first", {kOther});
    wait();
    beat("second", {kReplica, kOther});
    wait();
    tell(EventKind::paused, kReplica);
    beat("third", {kOther});
    tell(EventKind::resumed, kReplica);
    wait();
    tell(EventKind::node_down, kReplica);
    tell(EventKind::node_up, kReplica);
    now += 10s;
    beat("fourth", {kOther});
    wait();
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
