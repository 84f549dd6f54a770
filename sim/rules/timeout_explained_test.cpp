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
    }

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

TEST_F(TimeoutExplainedTest, AReplicaThatKnowsThatADispatchIsStoredKeepsTheMessageUntilTheJobIsRunning) {
    message(EventKind::deliver);
    dispatch();
    acknowledged_by_stream();
    fault("redis.errors");
    message(EventKind::ack);
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: its message is acknowledged by the replica that sent it")));
}

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

TEST_F(TimeoutExplainedTest, AMessageMayGoOnceTheJobIsRunningOrNoReplicaKnowsWhetherItWasSent) {
    message(EventKind::deliver);
    dispatch();
    message(EventKind::ack);
    message(EventKind::deliver);
    dispatch();
    acknowledged_by_stream();
    state("RUNNING");
    message(EventKind::ack);
    EXPECT_THAT(found, IsEmpty());
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

TEST_F(TimeoutExplainedTest, AnotherMessageAboutItMayGoAndADeadReplicaKnowsNothing) {
    message(EventKind::deliver, 1);
    message(EventKind::deliver, 2);
    dispatch();
    acknowledged_by_stream();
    message(EventKind::ack, 2);
    befall(EventKind::node_down, kReplica);
    befall(EventKind::node_up, kReplica);
    message(EventKind::deliver, 1);
    message(EventKind::ack, 1);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, APowerCutTakesTheAnswerWithIt) {
    message(EventKind::deliver);
    dispatch();
    acknowledged_by_stream();
    fault("nats.power_cut", "now");
    message(EventKind::ack);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, AnAnswerThatComesAfterThePowerCutProvesNothing) {
    dispatch();
    stored();
    fault("nats.power_cut", "now");
    answered();
    message(EventKind::deliver);
    message(EventKind::ack);
    EXPECT_THAT(found, IsEmpty());
    stored();
    answered();
    message(EventKind::deliver);
    message(EventKind::ack);
    EXPECT_EQ(found.size(), 1U) << "it is stored once more";
}

TEST_F(TimeoutExplainedTest, AJobThatItsWorkerGetsAndThatBecomesRunningIsInOrder) {
    dispatch();
    arrive();
    state("RUNNING");
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 2U);
}

TEST_F(TimeoutExplainedTest, AJobThatStaysDispatchedWhileNothingIsDisturbedIsNot) {
    dispatch();
    arrive();
    wait(1min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: it has been DISPATCHED for 10000 ms and is not RUNNING")));
}

TEST_F(TimeoutExplainedTest, NorIsAJobThatItsWorkerNeverGot) {
    dispatch();
    state("RUNNING");
    wait(1min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: it has been sent to w for 10000 ms, which has not got it")));
}

TEST_F(TimeoutExplainedTest, AnEndOrADispatchThatIsTakenBackIsNotWaitedFor) {
    for (const char* to : {"SCHEDULED", "SUCCEEDED"}) {
        dispatch();
        state(to);
        wait(1min);
    }
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, ADisturbanceOfItsReplicaOrTheServersExplainsIt) {
    dispatch();
    befall(EventKind::node_down, kReplica);
    wait(1min);
    befall(EventKind::node_up, kReplica);
    now += 1s;
    take_lock();
    fault("redis.latency");
    now += 1s;
    fault("redis.latency", "end");
    state("DISPATCHED");
    wait(1min);
    EXPECT_THAT(found, IsEmpty()) << "it failed while its handler had the lock";
    EXPECT_EQ(times_exercised(), 0U);
}

TEST_F(TimeoutExplainedTest, ADisturbanceOfAnotherReplicaOrALaterOneExplainsNothing) {
    dispatch();
    arrive();
    befall(EventKind::node_down, kOther);
    now += 20s;
    fault("redis.errors");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(TimeoutExplainedTest, ACallWithoutAnAnswerExplainsIt) {
    dispatch();
    about_job(EventKind::publish, "worker.w.jobs", When::answered, kReplica, EventOutcome::unknown);
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, AWorkerThatWasAwayExplainsThatItHasNotGotIt) {
    dispatch();
    state("RUNNING");
    befall(EventKind::paused, kItsWorker);
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, SoDoesOneThatHasNotAnnouncedItselfSinceItLostItsConnection) {
    befall(EventKind::connection_broken, kItsWorker);
    now += 5s;
    dispatch();
    state("RUNNING");
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
    now += 1s;
    dispatch();
    state("RUNNING");
    wait(1min);
    EXPECT_EQ(found.size(), 1U) << "it has been heard since";
}

TEST_F(TimeoutExplainedTest, AJobThatGoesToItsTopicHasNoWorkerToGetIt) {
    dispatch("");
    state("RUNNING");
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, APowerCutMayTakeTheOnlyMessageOfAJobThatWaits) {
    about_job(EventKind::stored, "sys.job.submit", When::applied);
    wait(1s);
    fault("nats.power_cut", "now");
    wait(1min);
    times_out_untried_for(10min);
    EXPECT_THAT(found, IsEmpty());
    about_job(EventKind::stored, "sys.job.submit", When::applied);
    times_out_untried_for(10min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was not tried for 600000 ms")));
}

TEST_F(TimeoutExplainedTest, AJobThatWaitsAndIsNotTriedAnyMoreIsForgotten) {
    times_out_untried_for(30s);
    EXPECT_THAT(found, IsEmpty());
    times_out_untried_for(10min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was not tried for 600000 ms")));
    for (const char* other : {"a", "b", "c", "d", "e"}) set_field(other, "state", "PENDING");
    times_out_untried_for(10min);
    EXPECT_EQ(found.size(), 1U) << "many wait";
}

TEST_F(TimeoutExplainedTest, AQueueForSlotsOrAKernelThatIsAwayMayLeaveAJobWaiting) {
    state("PENDING");
    take_lock();
    fault("kernel.outage");
    wait(10min);
    fault("kernel.outage", "end");
    state("TIMEOUT");
    state("PENDING");
    take_lock();
    keys.zset_set(keys.create<SortedSet>("lockstep:tenant:waiting:t"), "J", 1);
    wait(10min);
    state("TIMEOUT");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, AJobOfWhichRedisHasLostSomethingIsNotJudged) {
    dispatch();
    keys.restore([this] { keys.remove(*keys.find("job:meta:J")); });
    state("DISPATCHED");
    wait(1min);
    dispatch();
    evict("job:meta:J");
    state("DISPATCHED");
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TimeoutExplainedTest, AJobThatRedisHasKeptIsJudged) {
    set_field("another", "state", "PENDING");
    dispatch();
    keys.restore([this] { keys.remove(*keys.find("job:meta:another")); });
    wait(1min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: it has been DISPATCHED for")));
}

struct LookedForTest : TimeoutExplainedTest {
    /// While it is being published NATS goes, and comes back with another process, or the same.
    void dispatch_while_nats_restarts(engine::Duration away = 1s) {
        dispatch();
        stored();
        befall(EventKind::node_down, Topology::kNats);
        now += away;
        befall(EventKind::node_up, Topology::kNats);
    }
};

TEST_F(LookedForTest, ADispatchThatTheStreamHasIsFound) {
    dispatch_while_nats_restarts();
    wait(5min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("the stream has its dispatch")));
}

TEST_F(LookedForTest, AnEndIsAsGood) {
    dispatch_while_nats_restarts();
    now += 20s;
    state("SUCCEEDED");
    wait(5min);
    EXPECT_THAT(found, IsEmpty());
}

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

TEST_F(LookedForTest, ANatsThatStaysAwayOrAReplicaThatDiesExcusesIt) {
    dispatch_while_nats_restarts(95s);
    wait(5min);
    EXPECT_THAT(found, IsEmpty());
    state("SCHEDULED");
    dispatch_while_nats_restarts();
    befall(EventKind::node_down, kReplica);
    wait(5min);
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
