// What explains that a job waits for its limit, and what does not.
#include "sim/rules/rule_fixture.h"
#include "sim/spec/giving_up.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr NodeId kItsWorker{7};

struct TimeoutExplainedTest : RuleTest {
    TimeoutExplainedTest() : RuleTest(rules::timeout_explained) {
        beat();
        now += 5s;
        define({
            {"wait", [this](auto& time) { wait(duration_of(time)); }},
            {"state", [this](auto& to) { state(to, by); }},
            {"lock", [this](auto&) { take_lock(); }},
            {"dispatch", [this](auto&) { dispatch(); }},
            {"undirected", [this](auto&) { dispatch(""); }},
            {"arrive", [this](auto&) { arrive(); }},
            {"m", [this](auto& number) { present = std::stoull(number); }},
            {"deliver", [this](auto&) { message(EventKind::deliver, present); }},
            {"ack", [this](auto&) { message(EventKind::ack, present); }},
            {"mark",
             [this](auto&) {
                 set_text("cordum:bus:processed:CORDUM_SYS:1:dur_cordum-scheduler__sys_job_submit", "x");
             }},
            {"stored", [this](auto&) { stored(); }},
            {"answered", [this](auto&) { answered(); }},
            {"sent", [this](auto&) { acknowledged_by_stream(); }},
            {"unanswered",
             [this](auto&) {
                 about_job(EventKind::publish, "worker.w.jobs", When::answered, by, EventOutcome::unknown);
             }},
            {"submitted", [this](auto&) { about_job(EventKind::stored, "sys.job.submit", When::applied); }},
            {"untried", [this](auto& time) { times_out_untried_for(duration_of(time)); }},
            {"cut", [this](auto&) { fault("nats.power_cut", "now"); }},
            {"broken", [this](auto&) { befall(EventKind::connection_broken, by); }},
            {"queue", [this](auto&) { keys.zset_set(at<SortedSet>("lockstep:tenant:waiting:t"), "J", 1); }},
            {"pending",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) set_field(job, "state", "PENDING");
             }},
            {"lost", [this](auto& job) { keys.restore([&] { keys.remove(*keys.find("job:meta:" + job)); }); }},
        });
    }

    std::uint64_t present = 1;  // of its messages
    void about_job(EventKind kind, std::string_view subject, When when, NodeId node = kReplica,
                   EventOutcome outcome = EventOutcome::applied) {
        observe(kind, "J", {.outcome = outcome, .subject = subject}, when, node);
    }
    void beat() { observe(EventKind::heartbeat, "", {.name = "w"}, When::applied, kItsWorker); }
    /// Something unrelated happens, so that what is due is judged.
    void wait(engine::Duration duration) {
        now += duration;
        beat();
    }
    void state(const std::string& to, NodeId by = kReplica) { set_field("J", "state", to, by); }
    void take_lock() { tell(event_of(EventKind::lock_acquired, "J")); }
    void dispatch(std::string_view worker = "w") {
        take_lock();
        set_field("J", "ls_worker", worker);
        state("DISPATCHED");
    }
    void arrive() { about_job(EventKind::core_deliver, "worker.w.jobs", When::applied, kItsWorker); }
    void message(EventKind kind, std::uint64_t sequence = 1, std::int64_t delivery = 1) {
        observe(kind, "J", {.name = kSchedulersSubmissions, .sequence = sequence, .number = delivery},
                kind == EventKind::deliver ? When::applied : When::before);
    }
    void stored() { about_job(EventKind::stored, "worker.w.jobs", When::applied); }
    void answered() { about_job(EventKind::publish, "worker.w.jobs", When::answered); }
    void acknowledged_by_stream() {
        stored();
        answered();
    }
    void times_out_untried_for(engine::Duration time) {
        state("PENDING");
        take_lock();
        wait(time);
        state("TIMEOUT");
    }
};

constexpr Story kTimeouts[] = {
    {"AReplicaThatKnowsThatADispatchIsStoredKeepsTheMessageUntilTheJobIsRunning",
     "deliver dispatch sent fault=redis.errors ack", "J: its message is acknowledged by the replica that sent it"},
    {"AMessageMayGoOnceTheJobIsRunningOrNoReplicaKnowsWhetherItWasSent",
     "deliver dispatch ack deliver dispatch sent state=RUNNING ack"},
    {"OneThatWasProcessedBeforeItWaitedMayGoAgain", "deliver mark ack deliver dispatch sent ack"},
    {"OneThatIsMarkedAfterTheDispatchMayNot", "deliver dispatch sent mark ack", "J: its message is acknowledged by"},
    {"NorOneWhoseMarkRedisHasLost",
     "deliver mark ack evict=cordum:bus:processed:CORDUM_SYS:1:dur_cordum-scheduler__sys_job_submit deliver dispatch "
     "sent ack",
     "J: its message is acknowledged by"},
    {"AnotherMessageAboutItMayGoAndADeadReplicaKnowsNothing",
     "deliver m=2 deliver dispatch sent ack down up m=1 deliver ack"},
    {"APowerCutTakesTheAnswerWithIt", "deliver dispatch sent cut ack"},
    // In the end it is stored once more.
    {"AnAnswerThatComesAfterThePowerCutProvesNothing",
     "dispatch stored cut answered deliver ack ok stored answered deliver ack", "J:"},
    {"AJobThatItsWorkerGetsAndThatBecomesRunningIsInOrder", "dispatch arrive state=RUNNING wait=1min times=2"},
    {"AJobThatStaysDispatchedWhileNothingIsDisturbedIsNot", "dispatch arrive wait=1min",
     "J: it has been DISPATCHED for 10000 ms and is not RUNNING"},
    {"NorIsAJobThatItsWorkerNeverGot", "dispatch state=RUNNING wait=1min",
     "J: it has been sent to w for 10000 ms, which has not got it"},
    {"AnEndOrADispatchThatIsTakenBackIsNotWaitedFor",
     "dispatch state=SCHEDULED wait=1min dispatch state=SUCCEEDED wait=1min"},
    // The second time it failed while its handler had the lock.
    {"ADisturbanceOfItsReplicaOrTheServersExplainsIt",
     "dispatch down wait=1min up +1s lock fault=redis.latency +1s heal=redis.latency state=DISPATCHED wait=1min "
     "times=0"},
    {"SoDoesOneInWhichItsLockMayHaveBeenAskedFor",
     "fault=redis.latency heal=redis.latency +1s dispatch wait=1min ok dispatch wait=1min", "J:"},
    {"ADisturbanceOfAnotherReplicaOrALaterOneExplainsNothing", "dispatch arrive down@other +20s fault=redis.errors",
     "J:"},
    {"ACallWithoutAnAnswerExplainsIt", "dispatch unanswered wait=1min"},
    {"AWorkerThatWasAwayExplainsThatItHasNotGotIt", "dispatch state=RUNNING freeze@worker wait=1min"},
    {"SoDoesOneThatHasNotAnnouncedItselfSinceItLostItsConnection",
     "broken@worker +5s dispatch state=RUNNING wait=1min ok +1s dispatch state=RUNNING wait=1min", "J:"},
    {"AJobThatGoesToItsTopicHasNoWorkerToGetIt", "undirected state=RUNNING wait=1min"},
    {"APowerCutMayTakeTheOnlyMessageOfAJobThatWaits",
     "submitted wait=1s cut wait=1min untried=10min ok submitted untried=10min", "it was not tried for 600000 ms"},
    // In the end many wait.
    {"AJobThatWaitsAndIsNotTriedAnyMoreIsForgotten",
     "untried=30s ok untried=10min found=1 pending=a,b,c,d,e untried=10min", "it was not tried for 600000 ms"},
    {"AJobThatRanOrThatAGatewayEndsWasNotForgotten",
     "state=RUNNING lock wait=10min state=TIMEOUT state=PENDING lock wait=10min state=TIMEOUT@gateway"},
    {"AQueueForSlotsOrAKernelThatIsAwayMayLeaveAJobWaiting",
     "state=PENDING lock fault=kernel.outage wait=10min heal=kernel.outage state=TIMEOUT state=PENDING lock queue "
     "wait=10min state=TIMEOUT"},
    {"AJobOfWhichRedisHasLostSomethingIsNotJudged",
     "dispatch lost=J state=DISPATCHED wait=1min dispatch evict=job:meta:J state=DISPATCHED wait=1min"},
    {"AJobThatRedisHasKeptIsJudged", "pending=another dispatch lost=another wait=1min",
     "J: it has been DISPATCHED for"},
};
using TimeoutsTold = Told<TimeoutExplainedTest>;
TEST_P(TimeoutsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, TimeoutsTold, ::testing::ValuesIn(kTimeouts), title_of);

TEST_F(TimeoutExplainedTest, AMessageIsGivenUpAfterMostOfItsDeliveriesAndNotBefore) {
    const std::int64_t given_up = spec::first_given_up(tunables.bus_max_deliver);
    for (const std::int64_t delivery : {given_up - 1, given_up}) {
        message(EventKind::deliver, 1, delivery);
        dispatch();
        acknowledged_by_stream();
        message(EventKind::term);
    }
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(TimeoutExplainedTest, WhatIsNoSubmissionMayGo) {
    cap::BusPacket forged;
    forged.mutable_job_result()->set_job_id("J");
    const auto tell_forged = [&](EventKind kind, When when) {
        observe(kind, "J", {.name = kSchedulersSubmissions, .sequence = 1, .packet = &forged}, when);
    };
    dispatch();
    acknowledged_by_stream();
    tell_forged(EventKind::deliver, When::applied);
    tell_forged(EventKind::ack, When::before);
    EXPECT_THAT(found, IsEmpty());
}

struct LookedForTest : TimeoutExplainedTest {
    LookedForTest() {
        define({
            {"restart", [this](auto& away) { dispatch_while_nats_restarts(duration_of(away)); }},
        });
    }
    /// While it is being published NATS goes, and comes back with another process, or the same.
    void dispatch_while_nats_restarts(engine::Duration away = 1s) {
        dispatch();
        stored();
        befall(EventKind::node_down, Topology::kNats);
        now += away;
        befall(EventKind::node_up, Topology::kNats);
    }
};

constexpr Story kLookedFor[] = {
    {"ADispatchThatTheStreamHasIsFound", "restart=1s wait=5min", "the stream has its dispatch"},
    {"AnEndIsAsGood", "restart=1s +20s state=SUCCEEDED wait=5min"},
    {"ANatsThatStaysAwayOrAReplicaThatDiesExcusesIt",
     "restart=95s wait=5min ok state=SCHEDULED restart=1s down wait=5min"},
};
using LookedForTold = Told<LookedForTest>;
TEST_P(LookedForTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, LookedForTold, ::testing::ValuesIn(kLookedFor), title_of);

TEST_F(LookedForTest, AResultThatAReplicaHasHadInHandWillEndIt) {
    cap::BusPacket packet;
    packet.mutable_job_result()->set_job_id("J");
    packet.mutable_job_result()->set_worker_id("w");
    packet.mutable_job_result()->set_status(cap::JOB_STATUS_SUCCEEDED);
    const auto report = [&] {
        observe(EventKind::stored, "J",
                {.subject = "sys.job.result", .stream = "CORDUM_SYS", .sequence = 7, .packet = &packet});
    };
    dispatch_while_nats_restarts();
    report();
    wait(5min);
    EXPECT_EQ(found.size(), 1U) << "no replica has had it in hand";
    found.clear();
    state("SCHEDULED");
    dispatch_while_nats_restarts();
    report();
    set_field("J", "ls_result_first", "7 1");
    wait(5min);
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
