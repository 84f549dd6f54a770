// What is not done twice while nothing is disturbed, and what has its reason.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr std::string_view kLockOfJ = "cordum:scheduler:job:J";
constexpr NodeId kWorker{7};

struct CalmWeatherTest : RuleTest {
    CalmWeatherTest() : RuleTest(rules::calm_weather) {
        now = Time{100s};
        define({
            {"m", [this](auto& number) { message = std::stoull(number); }},
            {"deliver", [this](auto&) { deliver(message, by); }},
            {"number", [this](auto& count) { deliveries = std::stoi(count); }},
            {"arrive", [this](auto&) { arrive(message, by); }},
            {"result",
             [this](auto&) { observe(EventKind::deliver, "J", {.name = kSchedulersResults, .sequence = 9}); }},
            {"nameless",
             [this](auto&) { observe(EventKind::deliver, "", {.name = kSchedulersSubmissions, .sequence = 9}); }},
            {"nak", [this](auto& delay) { answer(EventKind::nak, duration_of(delay), message, by); }},
            {"late", [this](auto& delay) { answer(EventKind::nak, duration_of(delay), message, by, When::applied); }},
            {"ack", [this](auto&) { answer(EventKind::ack, {}, message, by); }},
            {"busy", [this](auto&) { requeue_as_busy(message, by); }},
            {"lock", [this](auto& key) { lock(EventKind::lock_acquired, by, key.empty() ? kLockOfJ : key); }},
            {"hold",
             [this](auto&) {
                 observe(EventKind::lock_acquired, "J", {.key = kLockOfJ, .name = "token"}, When::applied, by);
                 observe(EventKind::redis, "J", {.key = kLockOfJ, .payload = "token"}, When::before, by);
                 observe(EventKind::redis, "J", {.key = kLockOfJ, .payload = ":1"}, When::answered, by);
             }},
            {"unlock", [this](auto&) { lock(EventKind::lock_released, by); }},
            {"expire",
             [this](auto& key) { lock(EventKind::lock_expired, Topology::kRedis, key.empty() ? kLockOfJ : key); }},
            {"state", [this](auto& to) { become(to, by); }},
            {"kept", [this](auto& state) { keys.restore([&] { become(state); }); }},
            {"age", [this](auto& more) { now += tunables.pending_age + duration_of(more); }},
            {"ask", [this](auto&) { ask(); }},
            {"unanswered",
             [this](auto&) { observe(EventKind::redis, "J", {.outcome = EventOutcome::unknown}, When::answered); }},
            {"error",
             [this](auto& code) {
                 observe(EventKind::redis, "J", {.payload = '-' + code + " no"}, When::answered, by);
             }},
            {"delay", [this](auto& until) { delay(until.empty() ? "1" : until); }},
            {"time", [this](auto&) { by_command(by, {"TIME"}, [] {}); }},
            {"queue", [this](auto&) { keys.zset_set(at<SortedSet>("lockstep:tenant:waiting:t"), "J", 1); }},
            {"dequeue", [this](auto&) { keys.zset_remove(*keys.find("lockstep:tenant:waiting:t"), "J"); }},
            {"approve", [this](auto&) { tell(EventKind::approve, Topology::kOperator, "J", When::before); }},
            {"beat", [this](auto&) { tell(EventKind::heartbeat, kWorker); }},
            {"disturb", [this](auto& name) { disturb(name); }},
            {"break",
             [this](auto&) {
                 tell(event_of(EventKind::connection_broken, "", When::applied, by, {.peer = Topology::kNats}));
             }},
        });
    }

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

    std::uint64_t message = 1;
    std::int64_t deliveries = 0;
};

// Messages ---------------------------------------------------------------------------------------------------------------

constexpr Story kCalmMessages[] = {
    {"AMessageThatAReplicaHasIsNotDeliveredAgain", "deliver +10min deliver@other",
     "message 1 is delivered again 600000 ms after"},
    {"WhatIsRequeuedWaits", "deliver nak=0s", "is requeued to come again at once"},
    {"UnlessItsReplicaIsToEnd", "deliver fault=stop nak=0s"},
    {"OneThatWasRequeuedOrWhoseReplicaDiedComesAgain",
     "deliver nak=3s +3s deliver down +10min deliver@other ack@other"},
    {"AReplicaThatWasFrozenWithAMessageRequeuesItFromUnderAnother",
     "deliver@other freeze@other +10min deliver thaw@other +1s busy@other +1s deliver@other busy@other"},
    // The first had left the server before.
    {"AWordThatALinkHasHeldUpMakesOneDeliveryMoreDue",
     "deliver nak=3s +3min disturb=partition late=3s +2ms deliver +3s deliver ok +1s deliver",
     "message 1 is delivered again 1000 ms after"},
    {"TwoWordsThatReachTheServerBeforeWhatTheFirstCausesArrivesMakeTwoDeliveriesDue",
     "deliver deliver@other forget late=0s late=0s@other +100ms deliver +60ms deliver ok +60ms deliver",
     "message 1 is delivered again 60 ms after"},
    // The first had left the server an ack wait before, and so had the second.
    {"WhatALinkHasHeldUpMayComeTogetherWithWhatWasSentAfterIt",
     "disturb=partition +2ms deliver deliver ok +2s deliver ok +2s deliver",
     "message 1 is delivered again 2000 ms after"},
    {"ACopyThatTheLinkHasMadeOfADeliveryIsNoneOfTheServer", "number=1 arrive +1ms arrive ok deliver",
     "message 1 is delivered again 0 ms after"},
    {"AnotherReplicaMayHaveHadItInBetween", "number=1 arrive +1ms number=4 arrive ok number=5 arrive",
     "message 1 is delivered again 0 ms after"},
    {"ADeliveryThatWasOvertakenByLaterOnesIsNotOneMore", "number=4 arrive +1ms number=1 arrive ok number=5 arrive",
     "message 1 is delivered again 0 ms after"},
    {"ServersThatAnswerAreNoReasonToWaitForThem", "deliver nak=1s",
     "it is requeued for 1000 ms, as if a server did not answer"},
    // What is left of its own delay may be as long.
    {"ServersThatDoNotAnswerAre",
     "deliver disturb=redis.errors nak=1s +1s deliver delay nak=1s +1s delay=130000000 time deliver nak=1s ok +1min "
     "time deliver nak=1s",
     "as if a server did not answer"},
    {"AndRedisThatAnswersWithAnError", "deliver error=WRONGTYPE nak=1s ok +1s deliver error=NOSCRIPT error=ERR nak=1s",
     "as if a server did not answer"},
    {"AJobThatNoOtherHasIsNotBusy", "deliver lock unlock busy",
     "as a job that another handles, and none has been at it"},
    {"NorIsOneWhoseLockTheReplicaKnowsToHold", "deliver lock busy ok unlock +1s deliver hold busy",
     "as a job that another handles, and none has been at it"},
    {"WhatAReplicaHadWhenNatsLostPowerItMayHaveStill",
     "deliver@other m=2 deliver disturb=nats.power_cut +10min deliver busy ok m=1 ack@other m=2 ack ack +1s m=3 "
     "deliver busy",
     "and none has been at it"},
    {"AReplicaThatWasFrozenWithItThenMayAnswerThat",
     "deliver freeze +10min deliver@other nak=5s@other thaw disturb=nats.power_cut +10min deliver nak=1s nak=1s ok "
     "m=2 deliver nak=1s",
     "as if a server did not answer"},
    {"WhatADeadReplicaHadThenItHasNoMore", "deliver@other disturb=nats.power_cut down@other +1s m=2 deliver busy",
     "and none has been at it"},
    {"OneWhoseLockHasOutlivedAFailoverIsBusyUntilTheLockMoves",
     "deliver failover busy ok +500ms deliver lock unlock busy ok +500ms deliver busy", "and none has been at it"},
    // Also where the job is settled before its message is requeued.
    {"AReplicaMayReplayAJobThatHasWaitedLongWhenItsMessageComes",
     "state=PENDING@gateway age=-1s deliver hold busy unlock +1s deliver lock state=APPROVAL_REQUIRED unlock busy",
     "and none has been at it"},
    {"ALockASecondMessageOrAUserAreOthers",
     "lock@other deliver busy unlock@other deliver m=2 deliver@other ack@other m=1 busy +1s deliver "
     "state=CANCELLED@operator busy +1s deliver state=TIMEOUT busy"},
    {"NoConnectionBreaksByItself", "disturb=nats.lost_acks break ok +1min break", "its connection to NATS breaks"},
    {"ALockDoesNotRunOutUnderItsHolder", "lock +1min expire", "J: its lock runs out 60000 ms after it was taken"},
    {"AFrozenHoldersLockAndAGatewaysLockDo", "lock freeze +1min thaw expire lock@gateway +1min expire"},
    {"ALockThatACallOfADisturbedTimeHasTakenLateIsNotKnownToBeHeld", "disturb=redis.latency +1s lock +1min expire"},
    {"TheLockOfARollbackDoesNotRunOutEither", "lock=lockstep:saga:lock:r1 +40s expire=lockstep:saga:lock:r1",
     "lockstep:saga:lock:r1 runs out"},
    {"UnlessItsHolderDied", "lock=lockstep:saga:lock:r1 down +40s expire=lockstep:saga:lock:r1"},
    {"NorDoesThatOfASnapshot", "lock=cordum:scheduler:snapshot:writer +40s expire=cordum:scheduler:snapshot:writer",
     "snapshot:writer runs out"},
    {"ThatOfATickDoes",
     "lock=cordum:reconciler:default +40s expire=cordum:reconciler:default lock=cordum:wf:delay:poller +40s "
     "expire=cordum:wf:delay:poller lock=cordum:workflow-engine:reconciler:default +40s "
     "expire=cordum:workflow-engine:reconciler:default"},
    {"NeitherAResultNorAMessageWithoutAJobIsAnOccasionToAsk", "deliver ask result nameless ask",
     "policy is asked about it 2 times"},
    {"PolicyIsNotAskedAgainForNothing", "deliver ask ok ask", "policy is asked about it 2 times"},
    {"PolicyIsAskedAgainAfterEachDelayTurnDecisionOrDelivery",
     "deliver ask delay ask queue ask dequeue ask approve ask m=2 deliver ask age=0s ask"},
    {"AboutAJobThatIsHalfApprovedEachTickMayAsk",
     "deliver ask state=APPROVAL_REQUIRED approve ask ask ask ok state=PENDING ask ok ask",
     "policy is asked about it 3 times"},
    {"WhatGoesWrongCostsOneQuestionMoreEachTime", "deliver ask disturb=kernel.outage ask ok unanswered ask ask ok ask",
     "policy is asked about it 5 times, and there were 4 occasions to"},
    {"WhileNatsIsAwayEachDelayOfAPublishCostsOne",
     "deliver ask fault=nats.pause@nobody +2s ask +2s ask +2s ask +10ms ask ok +10ms ask",
     "policy is asked about it 6 times, and there were 5 occasions to"},
    {"AndWhileALinkIsAway", "deliver ask fault=partition@nobody +2s ask +2s ask +2s ask +10ms ask ok +10ms ask",
     "policy is asked about it 6 times, and there were 5 occasions to"},
    {"WhatRedisHasForgottenIsNotJudgedAndTheRestIs", "deliver state=RUNNING ask kept=RUNNING ask evict=job:meta:J ask",
     "policy is asked about it 2 times"},
};
using CalmMessagesTold = Told<CalmWeatherTest>;
TEST_P(CalmMessagesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, CalmMessagesTold, ::testing::ValuesIn(kCalmMessages), title_of);

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

// Locks, connections and heartbeats --------------------------------------------------------------------------------------

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
    HeartbeatsForAll() {
        define({
            {"beat", [this](auto& of) { beat_of(first(of), second(of)); }},
            {"wait", [this](auto& time) { wait(duration_of(time)); }},
        });
    }
    void about_heartbeat(EventKind kind, NodeId node, std::string_view payload,
                         std::string_view subject = "sys.heartbeat") {
        observe(kind, {}, {.subject = subject, .payload = payload}, When::applied, node);
    }
    void beat(std::string_view payload, std::initializer_list<NodeId> heard_by) {
        about_heartbeat(EventKind::stored, kWorker, payload);
        for (const NodeId node : heard_by) about_heartbeat(EventKind::core_deliver, node, payload);
    }
    void beat_of(const std::string& payload, const std::string& heard_by) {
        if (heard_by == "both") return beat(payload, {kReplica, kOther});
        if (heard_by == "apart") return beat(payload, {kOther, Topology::kGateway});
        beat(payload, {kOther});
    }
    void wait(Duration span = 10s) {
        now += span;
        tell(EventKind::reached, {}, {});
        tell(EventKind::heartbeat, {}, {});
    }
};

constexpr Story kHeartbeats[] = {
    // At first it may be on its way.
    {"OneThatAReplicaMissesAlarmsOnceInTheEnd",
     "beat=first:both wait=10s beat=second:other wait=4999ms ok wait=10s wait=10s",
     "it has heard heartbeats and not this one"},
    // In the end it listens again.
    {"WhoListensToNoneOrWasDisturbedMayMissThem",
     "beat=first:apart wait=10s beat=second:both wait=10s freeze beat=third:other thaw wait=4s beat=fourth:other "
     "wait=10s down up +10s beat=fifth:other wait=10s ok beat=sixth:both wait=10s beat=seventh:other wait=10s",
     "it has heard heartbeats and not this one"},
};
using HeartbeatsTold = Told<HeartbeatsForAll>;
TEST_P(HeartbeatsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, HeartbeatsTold, ::testing::ValuesIn(kHeartbeats), title_of);

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

// States and questions ---------------------------------------------------------------------------------------------------

struct TakenBackTest : CalmWeatherTest {
    TakenBackTest() {
        define({
            {"ttl", [this](auto& time) { tunables.worker_ttl = duration_of(time); }},
            {"begin", [this](auto&) { begin(); }},
            {"dispatch", [this](auto& lasts) { dispatch(duration_of(lasts)); }},
            {"undo", [this](auto&) { take_back(); }},
        });
    }
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

constexpr Story kTakenBack[] = {
    {"AnEndTakesNothingBack", "beat lock begin +1s state=TIMEOUT"},
    {"ADispatchToALivingWorkerIsNot", "beat lock dispatch=1s", "its dispatch to w is taken back"},
    {"OneToASilentWorkerOrThatCouldNotBeSentIs",
     "ttl=30s beat +30s lock dispatch=0s beat +1s begin disturb=nats.publish_errors undo"},
    // Its last word is still on its way, and the one before is too old.
    {"AWorkerThatSpeaksTooSeldomMayBeTakenForASilentOne", "ttl=5s beat +5s beat lock dispatch=0s"},
};
using TakenBack = Told<TakenBackTest>;
TEST_P(TakenBack, IsJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, TakenBack, ::testing::ValuesIn(kTakenBack), title_of);

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

}  // namespace
}  // namespace lockstep::sim
