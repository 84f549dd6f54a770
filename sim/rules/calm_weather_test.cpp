// What is not done twice while nothing is disturbed, and what has its reason.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr std::string_view kLockOfJ = "cordum:scheduler:job:J";
constexpr NodeId kWorker{7};

struct CalmWeatherTest : RuleTest {
    CalmWeatherTest() : RuleTest(rules::calm_weather) { now = Time{100s}; }

    using RuleTest::tell;
    void tell(EventKind kind, NodeId node, std::string_view job = "J", When when = When::applied) {
        observe(kind, job, {.name = kind == EventKind::heartbeat ? "w" : ""}, when, node);
    }
    void lock(EventKind kind, NodeId node, std::string_view key = kLockOfJ) {
        observe(kind, key == kLockOfJ ? "J" : "", {.key = key}, When::applied, node);
    }
    fakes::Event about_message(EventKind kind, std::uint64_t sequence, NodeId node, When when = When::applied) {
        return event_of(kind, "J", when, node, {.name = kSchedulersSubmissions, .sequence = sequence});
    }
    void deliver(std::uint64_t sequence = 1, NodeId node = kReplica) {
        ++deliveries;
        arrive(sequence, node);
    }
    void arrive(std::uint64_t sequence = 1, NodeId node = kReplica) {
        fakes::Event event = about_message(EventKind::deliver, sequence, node);
        event.number = deliveries;
        tell(event);
    }
    void answer(EventKind kind, Duration delay = {}, std::uint64_t sequence = 1, NodeId node = kReplica,
                When when = When::before) {
        fakes::Event event = about_message(kind, sequence, node, when);
        event.number = delay.count();
        tell(event);
    }
    void requeue_as_busy(std::uint64_t sequence = 1, NodeId node = kReplica) {
        answer(EventKind::nak, tunables.retry_delay_busy, sequence, node);
    }
    void become(std::string_view state, NodeId by = kReplica) { set_field("J", "state", state, by); }
    void ask(std::string_view job = "J") { ask_policy(job); }
    void delay(std::string_view until = "1") {
        by_command(kReplica, {"EVALSHA"}, [&] { set_field("J", "ls_next_attempt_at", until); });
    }
    void disturb(std::string_view name) {
        fault(name);
        fault(name, "end");
    }

    std::int64_t deliveries = 0;
};

// Messages ---------------------------------------------------------------------------------------------------------------

TEST_F(CalmWeatherTest, AMessageThatAReplicaHasIsNotDeliveredAgain) {
    deliver();
    now += 10min;
    deliver(1, kOther);
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 1 is delivered again 600000 ms after")));
}

TEST_F(CalmWeatherTest, WhatIsRequeuedWaitsUnlessItsReplicaIsToEnd) {
    deliver();
    answer(EventKind::nak);
    EXPECT_THAT(found, ElementsAre(HasSubstr("is requeued to come again at once")));
    found.clear();
    deliver();
    observe(EventKind::fault, "", {.name = "stop", .from = "begin"});
    answer(EventKind::nak);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CalmWeatherTest, AWordAboutALostMessageCountsForTheOneThatHasItsNumber) {
    deliver();
    fakes::Event late = about_message(EventKind::nak, 1, kReplica);
    late.job = "lost";
    late.number = Duration{1s}.count();
    tell(late);
    late.kind = EventKind::ack;
    late.when = When::before;
    tell(late);
    now += 1s;
    deliver(1, kOther);
    EXPECT_THAT(found, IsEmpty());
    now += 1s;
    deliver(1, kReplica);
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 1 is delivered again")));
}

TEST_F(CalmWeatherTest, OneThatWasRequeuedOrWhoseReplicaDiedIs) {
    deliver();
    answer(EventKind::nak, 3s);
    now += 3s;
    deliver();
    tell(EventKind::node_down, kReplica);
    now += 10min;
    deliver(1, kOther);
    answer(EventKind::ack, {}, 1, kOther);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CalmWeatherTest, AReplicaThatWasFrozenWithAMessageRequeuesItFromUnderAnother) {
    deliver(1, kOther);
    tell(EventKind::paused, kOther);
    now += 10min;
    deliver(1, kReplica);
    tell(EventKind::resumed, kOther);
    now += 1s;
    requeue_as_busy(1, kOther);
    now += 1s;
    deliver(1, kOther);
    requeue_as_busy(1, kOther);
    EXPECT_THAT(found, IsEmpty());
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
    EXPECT_THAT(found, IsEmpty()) << "the first had left the server before";
    now += 1s;
    deliver();
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 1 is delivered again 1000 ms after")));
}

TEST_F(CalmWeatherTest, TwoWordsThatReachTheServerBeforeWhatTheFirstCausesArrivesMakeTwoDeliveriesDue) {
    deliver();
    deliver(1, kOther);
    found.clear();
    answer(EventKind::nak, {}, 1, kReplica, When::applied);
    answer(EventKind::nak, {}, 1, kOther, When::applied);
    now += 100ms;
    deliver();
    now += 60ms;
    deliver();
    EXPECT_THAT(found, IsEmpty());
    now += 60ms;
    deliver();
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 1 is delivered again 60 ms after")));
}

TEST_F(CalmWeatherTest, WhatALinkHasHeldUpMayComeTogetherWithWhatWasSentAfterIt) {
    disturb("partition");
    now += 2ms;
    deliver();
    deliver();
    EXPECT_THAT(found, IsEmpty()) << "the first had left the server an ack wait before";
    now += 2s;
    deliver();
    EXPECT_THAT(found, IsEmpty()) << "so had the second";
    now += 2s;
    deliver();
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 1 is delivered again 2000 ms after")));
}

TEST_F(CalmWeatherTest, ACopyThatTheLinkHasMadeOfADeliveryIsNoneOfTheServer) {
    deliver();
    now += 1ms;
    arrive();
    EXPECT_THAT(found, IsEmpty());
    deliver();
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 1 is delivered again 0 ms after")));
}

TEST_F(CalmWeatherTest, ADeliveryThatWasOvertakenByLaterOnesIsNotOneMore) {
    deliveries = 4;
    arrive();
    now += 1ms;
    deliveries = 1;
    arrive();
    EXPECT_THAT(found, IsEmpty());
    deliveries = 5;
    arrive();
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 1 is delivered again 0 ms after")));
}

TEST_F(CalmWeatherTest, ServersThatAnswerAreNoReasonToWaitForThem) {
    deliver();
    answer(EventKind::nak, tunables.retry_delay_store);
    EXPECT_THAT(found, ElementsAre(HasSubstr("it is requeued for 1000 ms, as if a server did not answer")));
}

TEST_F(CalmWeatherTest, ServersThatDoNotAnswerAre) {
    deliver();
    disturb("redis.errors");
    answer(EventKind::nak, tunables.retry_delay_store);
    now += 1s;
    deliver();
    delay();
    answer(EventKind::nak, tunables.retry_delay_store);
    now += 1s;
    delay("130000000");
    by_command(kReplica, {"TIME"}, [] {});
    deliver();
    answer(EventKind::nak, tunables.retry_delay_store);
    EXPECT_THAT(found, IsEmpty()) << "what is left of its own delay may be as long";
    now += 1min;
    by_command(kReplica, {"TIME"}, [] {});
    deliver();
    answer(EventKind::nak, tunables.retry_delay_store);
    EXPECT_THAT(found, ElementsAre(HasSubstr("as if a server did not answer"))) << "the delay is over";
}

TEST_F(CalmWeatherTest, AJobThatNoOtherHasIsNotBusy) {
    deliver();
    lock(EventKind::lock_acquired, kReplica);
    lock(EventKind::lock_released, kReplica);
    requeue_as_busy();
    EXPECT_THAT(found, ElementsAre(HasSubstr("as a job that another handles, and none has been at it")));
}

TEST_F(CalmWeatherTest, WhatAReplicaHadWhenNatsLostPowerItMayHaveStill) {
    deliver(1, kOther);
    deliver(2);
    disturb("nats.power_cut");
    now += 10min;
    deliver(2);
    requeue_as_busy(2);
    EXPECT_THAT(found, IsEmpty());
    answer(EventKind::ack, {}, 1, kOther);
    answer(EventKind::ack, {}, 2);
    answer(EventKind::ack, {}, 2);
    now += 1s;
    deliver(3);
    requeue_as_busy(3);
    EXPECT_THAT(found, ElementsAre(HasSubstr("as a job that another handles, and none has been at it")))
        << "both have answered";
}

TEST_F(CalmWeatherTest, WhatADeadReplicaHadWhenNatsLostPowerItHasNoMore) {
    deliver(1, kOther);
    disturb("nats.power_cut");
    tell(EventKind::node_down, kOther);
    now += 1s;
    deliver(2);
    requeue_as_busy(2);
    EXPECT_THAT(found, ElementsAre(HasSubstr("as a job that another handles, and none has been at it")));
}

TEST_F(CalmWeatherTest, OneWhoseLockHasOutlivedAFailoverIsBusyUntilTheLockMoves) {
    deliver();
    keys.restore([] {});
    requeue_as_busy();
    EXPECT_THAT(found, IsEmpty());
    now += tunables.retry_delay_busy;
    deliver();
    lock(EventKind::lock_acquired, kReplica);
    lock(EventKind::lock_released, kReplica);
    requeue_as_busy();
    EXPECT_THAT(found, IsEmpty()) << "it may have been in the way of this delivery, too";
    now += tunables.retry_delay_busy;
    deliver();
    requeue_as_busy();
    EXPECT_THAT(found, ElementsAre(HasSubstr("as a job that another handles, and none has been at it")));
}

TEST_F(CalmWeatherTest, AReplicaMayReplayAJobThatHasWaitedLongWhenItsMessageComes) {
    become("PENDING", Topology::kGateway);
    now += tunables.pending_age - 1s;
    deliver();
    lock(EventKind::lock_acquired, kReplica);
    requeue_as_busy();
    EXPECT_THAT(found, ElementsAre(HasSubstr("as a job that another handles, and none has been at it")));
    lock(EventKind::lock_released, kReplica);
    now += 1s;
    deliver();
    lock(EventKind::lock_acquired, kReplica);
    become("APPROVAL_REQUIRED");
    lock(EventKind::lock_released, kReplica);
    requeue_as_busy();
    EXPECT_EQ(found.size(), 1U) << "also where the job is settled before its message is requeued";
}

TEST_F(CalmWeatherTest, ALockASecondMessageOrAUserAreOthers) {
    lock(EventKind::lock_acquired, kOther);
    deliver();
    requeue_as_busy();
    lock(EventKind::lock_released, kOther);
    deliver();
    deliver(2, kOther);
    answer(EventKind::ack, {}, 2, kOther);
    requeue_as_busy();
    for (const auto& [state, by] : {std::pair{"CANCELLED", Topology::kOperator}, std::pair{"TIMEOUT", kReplica}}) {
        now += 1s;
        deliver();
        become(state, by);
        requeue_as_busy();
    }
    EXPECT_THAT(found, IsEmpty());
}

// Locks, connections and heartbeats --------------------------------------------------------------------------------------

TEST_F(CalmWeatherTest, NoConnectionBreaksByItself) {
    fakes::Event broken = event_of(EventKind::connection_broken, "");
    broken.peer = Topology::kNats;
    disturb("nats.lost_acks");
    tell(broken);
    EXPECT_THAT(found, IsEmpty());
    now += 1min;
    tell(broken);
    EXPECT_THAT(found, ElementsAre(HasSubstr("its connection to NATS breaks")));
}

TEST_F(CalmWeatherTest, ALockDoesNotRunOutUnderItsHolder) {
    lock(EventKind::lock_acquired, kReplica);
    now += 1min;
    lock(EventKind::lock_expired, Topology::kRedis);
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: its lock runs out 60000 ms after it was taken")));
}

TEST_F(CalmWeatherTest, AFrozenHoldersLockAndAGatewaysLockDo) {
    lock(EventKind::lock_acquired, kReplica);
    tell(EventKind::paused, kReplica);
    now += 1min;
    tell(EventKind::resumed, kReplica);
    lock(EventKind::lock_expired, Topology::kRedis);
    lock(EventKind::lock_acquired, Topology::kGateway);
    now += 1min;
    lock(EventKind::lock_expired, Topology::kRedis);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CalmWeatherTest, ALockThatACallOfADisturbedTimeHasTakenLateIsNotKnownToBeHeld) {
    disturb("redis.latency");
    now += 1s;
    lock(EventKind::lock_acquired, kReplica);
    now += 1min;
    lock(EventKind::lock_expired, Topology::kRedis);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CalmWeatherTest, TheLockOfARollbackOrASnapshotDoesNotRunOutEither) {
    for (const std::string_view key :
         {"lockstep:saga:lock:r1", "cordum:scheduler:snapshot:writer", "cordum:reconciler:default",
          "cordum:wf:delay:poller", "cordum:workflow-engine:reconciler:default"}) {
        lock(EventKind::lock_acquired, kReplica, key);
        now += 40s;
        lock(EventKind::lock_expired, Topology::kRedis, key);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("lockstep:saga:lock:r1 runs out"), HasSubstr("snapshot:writer runs out")));

    lock(EventKind::lock_acquired, kReplica, "lockstep:saga:lock:r1");
    tell(EventKind::node_down, kReplica, "");
    now += 40s;
    lock(EventKind::lock_expired, Topology::kRedis, "lockstep:saga:lock:r1");
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(CalmWeatherTest, ARollbackThatTakesAllItsTimeIsNotOneThatHasBeenLeft) {
    cap::BusPacket packet;
    packet.set_sender_id("cordum-scheduler-saga");
    packet.mutable_job_request()->set_job_id("comp-1");
    const auto publish = [&] {
        observe(EventKind::publish, "comp-1", {.subject = "sys.job.submit", .packet = &packet}, When::before);
    };
    for (const std::string_view key : {"lockstep:saga:lock:r1", "saga:travel:lock"}) {
        for (const bool publishes : {true, false}) {
            for (const Duration since_the_last : {1s, 60s}) {
                found.clear();
                lock(EventKind::lock_acquired, kReplica, key);
                now += 10s;
                publishes ? publish() : ask("comp-1");
                now += since_the_last;
                lock(EventKind::lock_expired, Topology::kRedis, key);
                EXPECT_EQ(found.size(), since_the_last > 30s ? 1U : 0U) << key;
            }
        }
    }
}

/// A heartbeat that NATS has taken, and who hears it.
struct HeartbeatsForAll : CalmWeatherTest {
    void about_heartbeat(EventKind kind, NodeId node, std::string_view payload,
                         std::string_view subject = "sys.heartbeat") {
        observe(kind, {}, {.subject = subject, .payload = payload}, When::applied, node);
    }
    void beat(std::string_view payload, std::initializer_list<NodeId> heard_by) {
        about_heartbeat(EventKind::stored, kWorker, payload);
        for (const NodeId node : heard_by) about_heartbeat(EventKind::core_deliver, node, payload);
    }
    void wait(Duration span = 10s) {
        now += span;
        tell(EventKind::reached, {}, {});
        tell(EventKind::heartbeat, {}, {});
    }
};

TEST_F(HeartbeatsForAll, OneThatAReplicaMissesAlarmsOnceInTheEnd) {
    beat("first", {kReplica, kOther});
    wait();
    beat("second", {kOther});
    wait(4999ms);
    EXPECT_THAT(found, IsEmpty()) << "it may be on its way";
    wait();
    wait();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it has heard heartbeats and not this one")));
}

TEST_F(HeartbeatsForAll, OfTheSameWordsOneThatIsHeardStandsForAllAndOtherWordsForNone) {
    beat("first", {kReplica, kOther});
    wait(1s);
    beat("again", {kOther});
    for (int i = 0; i < 20; ++i) {
        now += 1s;
        beat("again", {kReplica, kOther});
    }
    wait();
    EXPECT_THAT(found, IsEmpty());
    beat("second", {});
    wait(1s);
    beat("third", {kReplica, kOther});
    wait();
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(HeartbeatsForAll, WhoListensToNoneOrWasDisturbedMayMissThem) {
    beat("first", {kOther, Topology::kGateway});
    wait();
    beat("second", {kReplica, kOther});
    wait();
    tell(EventKind::paused, kReplica);
    beat("third", {kOther});
    tell(EventKind::resumed, kReplica);
    wait(4s);
    beat("fourth", {kOther});
    wait();
    tell(EventKind::node_down, kReplica);
    tell(EventKind::node_up, kReplica);
    now += 10s;
    beat("fifth", {kOther});
    wait();
    EXPECT_THAT(found, IsEmpty());
    beat("sixth", {kReplica, kOther});
    wait();
    beat("seventh", {kOther});
    wait();
    EXPECT_EQ(found.size(), 1U) << "it listens again";
}

// States and questions ---------------------------------------------------------------------------------------------------

struct TakenBackTest : CalmWeatherTest {
    void dispatch(Duration lasts = {}) {
        begin();
        now += lasts;
        take_back();
    }
    void begin() {
        by_command(kReplica, {"EVALSHA"}, [this] {
            become("DISPATCHED");
            set_field("J", "ls_worker", "w");
        });
    }
    void take_back() {
        by_command(kReplica, {"EVALSHA"}, [this] {
            keys.hash_remove(*keys.find("job:meta:J"), "ls_worker");
            become("SCHEDULED");
        });
    }
};

// Its last word is still on its way, and the one before is too old.
TEST_F(TakenBackTest, AWorkerThatSpeaksTooSeldomMayBeTakenForASilentOne) {
    tunables.worker_ttl = 5s;
    tell(EventKind::heartbeat, kWorker);
    now += 5s;
    tell(EventKind::heartbeat, kWorker);
    lock(EventKind::lock_acquired, kReplica);
    dispatch();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TakenBackTest, ADispatchToALivingWorkerIsNotTakenBack) {
    tell(EventKind::heartbeat, kWorker);
    lock(EventKind::lock_acquired, kReplica);
    dispatch(1s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("its dispatch to w is taken back")));
}

TEST_F(TakenBackTest, OneToASilentWorkerOrThatCouldNotBeSentIs) {
    tell(EventKind::heartbeat, kWorker);
    now += tunables.worker_ttl;
    lock(EventKind::lock_acquired, kReplica);
    dispatch();
    tell(EventKind::heartbeat, kWorker);
    now += 1s;
    begin();
    disturb("nats.publish_errors");
    take_back();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CalmWeatherTest, PolicyIsNotAskedAgainForNothing) {
    deliver();
    ask();
    EXPECT_THAT(found, IsEmpty());
    ask();
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy is asked about it 2 times")));
}

TEST_F(CalmWeatherTest, PolicyIsAskedAgainAfterEachDelayTurnDecisionOrDelivery) {
    deliver();
    ask();
    delay();
    ask();
    auto& line = at<SortedSet>("lockstep:tenant:waiting:t");
    keys.zset_set(line, "J", 1);
    ask();
    keys.zset_remove(line, "J");
    ask();
    tell(EventKind::approve, Topology::kOperator, "J", When::before);
    ask();
    deliver(2);
    ask();
    now += tunables.pending_age;
    ask();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CalmWeatherTest, WhatGoesWrongCostsOneQuestionMoreEachTime) {
    deliver();
    ask();
    disturb("kernel.outage");
    ask();
    EXPECT_THAT(found, IsEmpty()) << "a replica may have had to ask again";
    observe(EventKind::redis, "J", {.outcome = EventOutcome::unknown}, When::answered);
    ask();
    ask();
    EXPECT_THAT(found, IsEmpty());
    ask();
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy is asked about it 5 times, and there were 4 occasions to")));
}

TEST_F(CalmWeatherTest, WhatGoesWrongElsewhereCostsNothing) {
    const auto answer_call = [this](NodeId node, EventOutcome outcome, std::string_view reply) {
        observe(EventKind::redis, "J", {.outcome = outcome, .payload = reply}, When::answered, node);
    };
    deliver();
    ask();
    answer_call(Topology::kGateway, EventOutcome::unknown, "");
    answer_call(kOther, EventOutcome::unknown, "");
    answer_call(kReplica, EventOutcome::applied, "-NOSCRIPT no such script");
    tell(EventKind::node_up, kReplica);
    observe(EventKind::fault, "", {.name = "crash", .from = "begin"}, When::applied, kOther);
    observe(EventKind::lock_expired, "", {.peer = kReplica, .key = "cordum:reconciler:default"}, When::applied,
            Topology::kRedis);
    ask();
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy is asked about it 2 times, and there were 1 occasions to")));
    lock(EventKind::lock_acquired, kOther);
    lock(EventKind::lock_released, kOther);
    for (int i = 0; i < 2; ++i) ask();
    EXPECT_EQ(found.size(), 2U) << "it has handled the job, and something went wrong with it twice";
}

TEST_F(CalmWeatherTest, ARollbackMayAskOnceMoreAboutACompensation) {
    cap::BusPacket packet;
    packet.set_sender_id("cordum-scheduler-saga");
    packet.mutable_job_request()->set_job_id("J");
    fakes::Event event = about_message(EventKind::deliver, 1, kReplica);
    event.packet = &packet;
    tell(event);
    ask();
    ask();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CalmWeatherTest, WhatRedisHasForgottenIsNotJudgedAndTheRestIs) {
    deliver();
    become("RUNNING");
    ask();
    keys.restore([this] { become("RUNNING"); });
    ask();
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy is asked about it 2 times")));
    evict("job:meta:J");
    ask();
    EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
