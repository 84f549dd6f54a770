// Whom a cancellation is owed to, and when one is owed to none.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct CancelToldTest : RuleTest {
    static constexpr NodeId kWorker{7};
    CancelToldTest() : RuleTest(rules::cancel_told) {
        define({
            {"state", [this](auto& to) { state(to, by); }},
            {"send", [this](auto&) { send(); }},
            {"learn", [this](auto&) { learn(); }},
            {"unlearn", [this](auto&) { learn(EventOutcome::unknown); }},
            {"arrive", [this](auto&) { arrive(); }},
            {"off", [this](auto&) { call_off(); }},
            {"asked", [this](auto&) { call_off(Topology::kGateway, "a user"); }},
            {"report", [this](auto& worker) { report(cap::JOB_STATUS_TIMEOUT, worker); }},
            {"hear", [this](auto& sender) { hear(sender.empty() ? "stranger" : sender); }},
            {"behind", [this](auto&) { cancel_behind_its_dispatch(); }},
            {"unrest", [this](auto&) { rest(false); }},
            {"untold", [this](auto&) { tunables.cancel_on_timeout = false; }},
            {"unanswered",
             [this](auto&) { observe(EventKind::redis, "J", {.outcome = EventOutcome::unknown}, When::answered, by); }},
        });
    }

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

constexpr Story kCancels[] = {
    {"AJobThatTimesOutIsCalledOff", "state=RUNNING state=TIMEOUT +100ms off wait=1min times=2"},
    // At first there is still time.
    {"WhatIsStillOwedWhenAllIsQuietIsOwedForEver", "state=RUNNING state=TIMEOUT unrest ok rest", "J: it timed out"},
    {"NothingIsOwedForAJobThatNoWorkerHasOrWhereTheSettingSaysSo",
     "state=SCHEDULED state=TIMEOUT untold state=RUNNING state=TIMEOUT wait=1min"},
    {"AWorkerThatReportsTheEndNeedsNoWord", "state=RUNNING report=w state=TIMEOUT wait=1min"},
    {"AReportWithoutAWorkerIsNoWorkers", "state=RUNNING report state=TIMEOUT wait=1min", "J: it timed out"},
    {"AReplicaThatDiesOrHasGivenTheCallUpIsExcused",
     "state=RUNNING state=TIMEOUT down wait=1min state=RUNNING@other unanswered@other +1ms state=TIMEOUT@other "
     "wait=1min"},
    {"AWordThatCameBeforeTheDispatchWasTooEarly", "behind arrive +1ms learn wait=1min",
     "it reached a worker after it had ended"},
    {"ASenderThatDoesNotLearnWhetherItWasSentCannotTell", "behind arrive unlearn wait=1min"},
    // The dispatch and the word about its end wait for the worker in the order in which they were published.
    {"TheSenderTellsAgainBeforeOrAfterItArrives",
     "behind learn +1ms arrive +1ms off wait=1min behind learn +1ms off +20s arrive +1ms wait=1min ok behind learn "
     "+20s arrive wait=1min",
     "it reached a worker after it had ended"},
    {"AFrozenWorkerHearsTheDispatchAndThenTheWordThatFollowedIt",
     "state=DISPATCHED send learn +20s state=TIMEOUT off +20s arrive wait=1min"},
    {"AnOperatorsOwnCancellationIsTheOperatorsBusiness",
     "state=RUNNING send arrive +1s state=CANCELLED@operator wait=1min"},
    // Users may ask for what they like.
    {"NoWorkerIsToldToLeaveOffAJobThatGoesOn", "state=RUNNING asked ok off",
     "its worker is told to leave off, and it is RUNNING"},
    {"WhatAnotherOneAsksForIsDone", "state=RUNNING hear state=CANCELLED wait=1min"},
    // The first time it is not known yet.
    {"AJobThatWasToBeCancelledDoesNotGoOn",
     "hear state=PENDING hear=cordum-scheduler wait=1min ok hear wait=2s ok wait=2s",
     "that it is to be cancelled, and it is still PENDING"},
};
using CancelsTold = Told<CancelToldTest>;
TEST_P(CancelsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, CancelsTold, ::testing::ValuesIn(kCancels), title_of);

TEST_F(CancelToldTest, SilenceIsNoCallingOff) {
    state("DISPATCHED");
    state("TIMEOUT");
    wait(1min);
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: it timed out, and 3000 ms later no cancellation")));
    EXPECT_THAT(cited, ElementsAre("by default")) << "also of what is judged later";
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
