// Whom a cancellation is owed to, and when one is owed to none.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct CancelToldTest : RuleTest {
    static constexpr NodeId kWorker{7};
    CancelToldTest() : RuleTest(rules::cancel_told) {}

    void state(std::string_view to, NodeId by = kReplica) { set_field("J", "state", to, by); }
    void tell_packet(EventKind kind, When when, NodeId node, std::string_view subject, const cap::BusPacket& packet,
                     std::string_view name = {}, EventOutcome outcome = EventOutcome::applied) {
        observe(kind, "J", {.outcome = outcome, .subject = subject, .name = name, .packet = &packet}, when, node);
    }
    void call_off(NodeId by = kReplica, const std::string& requested_by = "cordum-scheduler") {
        cap::BusPacket cancel;
        cancel.mutable_job_cancel()->set_job_id("J");
        cancel.mutable_job_cancel()->set_requested_by(requested_by);
        tell_packet(EventKind::core_publish, When::before, by, "sys.job.cancel", cancel);
    }
    void dispatch(EventKind kind, When when, NodeId node, EventOutcome outcome = EventOutcome::applied) {
        cap::BusPacket request;
        request.mutable_job_request()->set_job_id("J");
        tell_packet(kind, when, node, "worker.w.jobs", request, {}, outcome);
    }
    void send() { dispatch(EventKind::publish, When::before, kReplica); }
    void learn(EventOutcome outcome = EventOutcome::applied) {
        dispatch(EventKind::publish, When::answered, kReplica, outcome);
    }
    void arrive() { dispatch(EventKind::core_deliver, When::applied, kWorker); }
    void report(cap::JobStatus status, std::string_view worker) {
        deliver_result("J", {.status = status, .worker = worker});
    }
    void hear(const std::string& sender = "stranger") {
        cap::BusPacket cancel;
        cancel.set_sender_id(sender);
        cancel.mutable_job_cancel()->set_job_id("J");
        tell_packet(EventKind::core_deliver, When::applied, kReplica, "sys.job.cancel", cancel, "cordum-scheduler");
    }
    /// An operator cancels it while its dispatch is on its way.
    void cancel_behind_its_dispatch() {
        state("DISPATCHED");
        send();
        state("CANCELLED", Topology::kOperator);
        call_off(Topology::kOperator, "operator");
        now += 1ms;
    }
};

TEST_F(CancelToldTest, AJobThatTimesOutIsCalledOff) {
    state("RUNNING");
    state("TIMEOUT");
    now += 100ms;
    call_off();
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
    EXPECT_GE(times_exercised(), 1U);
}

TEST_F(CancelToldTest, SilenceIsNoCallingOff) {
    state("DISPATCHED");
    state("TIMEOUT");
    wait(1min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: it timed out, and 3000 ms later no cancellation")));
    EXPECT_THAT(cited, ElementsAre("by default")) << "also of what is judged later";
}

TEST_F(CancelToldTest, WhatIsStillOwedWhenAllIsQuietIsOwedForEver) {
    state("RUNNING");
    state("TIMEOUT");
    rest(false);
    EXPECT_THAT(found, IsEmpty()) << "there is still time";
    rest();
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(CancelToldTest, NothingIsOwedForAJobThatNoWorkerHasOrWhereTheSettingSaysSo) {
    state("SCHEDULED");
    state("TIMEOUT");
    tunables.cancel_on_timeout = false;
    state("RUNNING");
    state("TIMEOUT");
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CancelToldTest, AWorkerThatReportsTheEndNeedsNoWordAndAReportWithoutAWorkerIsNoWorkers) {
    for (const char* worker : {"", "w"}) {
        found.clear();
        state("RUNNING");
        report(cap::JOB_STATUS_TIMEOUT, worker);
        state("TIMEOUT");
        wait(1min);
        EXPECT_EQ(found.size(), *worker == '\0' ? 1U : 0U);
    }
}

TEST_F(CancelToldTest, AReplicaThatDiesOrHasGivenTheCallUpIsExcused) {
    state("RUNNING");
    state("TIMEOUT");
    befall(EventKind::node_down, kReplica);
    wait(1min);
    state("RUNNING", kOther);
    observe(EventKind::redis, "J", {.outcome = EventOutcome::unknown}, When::answered, kOther);
    now += 1ms;
    state("TIMEOUT", kOther);
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CancelToldTest, AWordThatCameBeforeTheDispatchWasTooEarly) {
    cancel_behind_its_dispatch();
    arrive();
    now += 1ms;
    learn();
    wait(1min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("it reached a worker after it had ended")));
}

TEST_F(CancelToldTest, ASenderThatDoesNotLearnWhetherItWasSentCannotTell) {
    cancel_behind_its_dispatch();
    arrive();
    learn(EventOutcome::unknown);
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

// The dispatch and the word about its end wait for the worker in the order in which they were published.
TEST_F(CancelToldTest, TheSenderTellsAgainBeforeOrAfterItArrives) {
    for (const bool frozen : {false, true}) {
        cancel_behind_its_dispatch();
        learn();
        now += 1ms;
        if (frozen) call_off();
        if (frozen) now += 20s;
        arrive();
        now += 1ms;
        if (!frozen) call_off();
        wait(1min);
    }
    EXPECT_THAT(found, IsEmpty());
    cancel_behind_its_dispatch();
    learn();
    now += 20s;
    arrive();
    wait(1min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("it reached a worker after it had ended")));
}

TEST_F(CancelToldTest, AFrozenWorkerHearsTheDispatchAndThenTheWordThatFollowedIt) {
    state("DISPATCHED");
    send();
    learn();
    now += 20s;
    state("TIMEOUT");
    call_off();
    now += 20s;
    arrive();
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CancelToldTest, AnOperatorsOwnCancellationIsTheOperatorsBusiness) {
    state("RUNNING");
    send();
    arrive();
    now += 1s;
    state("CANCELLED", Topology::kOperator);
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CancelToldTest, NoWorkerIsToldToLeaveOffAJobThatGoesOn) {
    state("RUNNING");
    call_off(Topology::kGateway, "a user");
    EXPECT_THAT(found, IsEmpty()) << "users may ask for what they like";
    call_off();
    EXPECT_THAT(found, ElementsAre(HasSubstr("its worker is told to leave off, and it is RUNNING")));
}

TEST_F(CancelToldTest, WhatAnotherOneAsksForIsDone) {
    state("RUNNING");
    hear();
    state("CANCELLED");
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
    EXPECT_GE(times_exercised(), 1U);
}

TEST_F(CancelToldTest, AJobThatWasToBeCancelledDoesNotGoOn) {
    hear();  // it is not known yet
    state("PENDING");
    hear("cordum-scheduler");
    wait(1min);
    EXPECT_THAT(found, IsEmpty());
    hear();
    wait(2s);
    EXPECT_THAT(found, IsEmpty()) << "there is still time";
    wait(2s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("that it is to be cancelled, and it is still PENDING")));
}

TEST_F(CancelToldTest, OfManyWordsTheLastHasMoreTime) {
    state("PENDING");
    for (int i = 0; i < 33; ++i) hear();
    wait(4s);
    EXPECT_EQ(found.size(), 32U);
    wait(2s);
    EXPECT_EQ(found.size(), 33U);
}

TEST_F(CancelToldTest, WhatRedisHasForgottenIsNotJudgedAndWhatItHasKeptIs) {
    for (const std::string forgotten : {"another", "J"}) {
        found.clear();
        keys.set_string("job:state:" + forgotten, "RUNNING", kNever);
        state("RUNNING");
        state("TIMEOUT");
        keys.restore([&] { keys.set_string("job:state:" + forgotten, "PENDING", kNever); });
        wait(1min);
        EXPECT_EQ(found.size(), forgotten == "J" ? 0U : 1U);
    }
}

}  // namespace
}  // namespace lockstep::sim
