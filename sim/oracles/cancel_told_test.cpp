// Whom a cancellation is owed to, and when one is owed to nobody.
#include "sim/oracles/cancel_told.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::NodeId;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;
using testing::kWorker;

class CancelToldTest : public ::testing::Test {
protected:
    void move(std::string_view to, NodeId by = kReplica) {
        fakes::Event event = testing::state_event("J", "", to);
        event.node = by;
        judge.tell(watch(), event, now);
    }
    void packet(EventKind kind, When when, NodeId node, std::string_view subject, const cap::BusPacket& packet,
                std::string_view name = {}) {
        fakes::Event event = testing::event_of(kind, "J", when);
        event.node = node;
        event.subject = subject;
        event.packet = &packet;
        event.name = name;
        judge.tell(watch(), event, now);
    }
    void call_off(NodeId by = kReplica, const std::string& who = "cordum-scheduler") {
        cap::BusPacket cancel;
        cancel.mutable_job_cancel()->set_job_id("J");
        cancel.mutable_job_cancel()->set_requested_by(who);
        packet(EventKind::core_publish, When::before, by, "sys.job.cancel", cancel);
    }
    void send() {
        cap::BusPacket request;
        request.mutable_job_request()->set_job_id("J");
        packet(EventKind::publish, When::before, kReplica, "worker.w.jobs", request);
    }
    void learn(fakes::EventOutcome outcome = fakes::EventOutcome::applied) {
        cap::BusPacket request;
        request.mutable_job_request()->set_job_id("J");
        fakes::Event event = testing::event_of(EventKind::publish, "J", When::answered);
        event.node = kReplica;
        event.subject = "worker.w.jobs";
        event.packet = &request;
        event.outcome = outcome;
        judge.tell(watch(), event, now);
    }
    void arrive() {
        cap::BusPacket request;
        request.mutable_job_request()->set_job_id("J");
        packet(EventKind::core_deliver, When::applied, kWorker, "worker.w.jobs", request);
    }
    void result(cap::JobStatus status, const std::string& worker) {
        cap::BusPacket report;
        report.mutable_job_result()->set_job_id("J");
        report.mutable_job_result()->set_worker_id(worker);
        report.mutable_job_result()->set_status(status);
        packet(EventKind::deliver, When::applied, kReplica, "sys.job.result", report, kSchedulersResults);
    }
    void wait(engine::Duration duration) {
        now += duration;
        judge.tell(watch(), testing::event_of(EventKind::timer, ""), now);
    }
    void hear(const std::string& sender = "stranger") {
        cap::BusPacket cancel;
        cancel.set_sender_id(sender);
        cancel.mutable_job_cancel()->set_job_id("J");
        packet(EventKind::core_deliver, When::applied, kReplica, "sys.job.cancel", cancel, "cordum-scheduler");
    }
    CancelTold& watch() {
        if (!oracle) oracle.emplace(judge, tunables);
        return *oracle;
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    std::optional<CancelTold> oracle;
    Time now{10s};
};

TEST_F(CancelToldTest, AJobThatTimesOutIsCalledOff) {
    move("RUNNING");
    move("TIMEOUT");
    now += 100ms;
    call_off();
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GE(oracle->exercised(), 1U);
}

TEST_F(CancelToldTest, SilenceIsNoCallingOff) {
    move("DISPATCHED");
    move("TIMEOUT");
    wait(1min);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J: it timed out, and 3000 ms later no cancellation")));
}

TEST_F(CancelToldTest, WhatIsStillOwedWhenAllIsQuietIsOwedForEver) {
    move("RUNNING");
    move("TIMEOUT");
    watch().at_rest({.redis = fakes::redis::Keyspace{}, .quiet = false});
    EXPECT_THAT(judge.found, IsEmpty()) << "there is still time";
    watch().at_rest({.redis = fakes::redis::Keyspace{}, .quiet = true});
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(CancelToldTest, NothingIsOwedForAJobThatNobodyHas) {
    move("SCHEDULED");
    move("TIMEOUT");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, NothingIsOwedWhereTheSettingSaysSo) {
    tunables.cancel_on_timeout = false;
    move("RUNNING");
    move("TIMEOUT");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, AWorkerThatReportsTheEndNeedsNoWord) {
    move("RUNNING");
    result(cap::JOB_STATUS_TIMEOUT, "w");
    move("TIMEOUT");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, AReportWithoutAWorkerIsNoWorkers) {
    move("RUNNING");
    result(cap::JOB_STATUS_CANCELLED, "");
    move("TIMEOUT");
    wait(1min);
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(CancelToldTest, AReplicaThatDiesOrASilentNatsExcusesIt) {
    move("RUNNING");
    move("TIMEOUT");
    fakes::Event down = testing::event_of(EventKind::node_down, "");
    down.node = kReplica;
    judge.tell(watch(), down, now);
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, WhoeverHasGivenTheCallUpDoesNotKnowThatItEndedTheJob) {
    move("RUNNING");
    fakes::Event given_up = testing::event_of(EventKind::redis, "J", When::answered);
    given_up.node = kReplica;
    given_up.outcome = fakes::EventOutcome::unknown;
    judge.tell(watch(), given_up, now);
    now += 1ms;
    move("TIMEOUT");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, AWordThatCameBeforeTheDispatchWasTooEarly) {
    move("DISPATCHED");
    send();
    move("CANCELLED", Topology::kOperator);
    call_off(Topology::kOperator, "operator");
    now += 1ms;
    arrive();
    now += 1ms;
    learn();
    wait(1min);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it reached a worker after it had ended")));
}

TEST_F(CancelToldTest, WhoeverDoesNotLearnWhetherItWasSentCannotTell) {
    move("DISPATCHED");
    send();
    move("CANCELLED", Topology::kOperator);
    now += 1ms;
    arrive();
    learn(fakes::EventOutcome::unknown);
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, WhoeverHasSentItTellsAgain) {
    move("DISPATCHED");
    send();
    move("CANCELLED", Topology::kOperator);
    call_off(Topology::kOperator, "operator");
    now += 1ms;
    learn();
    now += 1ms;
    arrive();
    now += 1ms;
    call_off();
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

// The dispatch and the word about its end wait for the worker in the order in which they were published.
TEST_F(CancelToldTest, AFrozenWorkerHearsTheDispatchAndThenTheWordThatFollowedIt) {
    move("DISPATCHED");
    send();
    learn();
    now += 20s;
    move("TIMEOUT");
    call_off();
    now += 20s;
    arrive();
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, SoItDoesWhereTheSenderHasToldAgain) {
    move("DISPATCHED");
    send();
    move("CANCELLED", Topology::kOperator);
    call_off(Topology::kOperator, "operator");
    now += 1ms;
    learn();
    now += 1ms;
    call_off();
    now += 20s;
    arrive();
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, AFrozenWorkerIsOwedTheWordThatNobodyHasRepeated) {
    move("DISPATCHED");
    send();
    move("CANCELLED", Topology::kOperator);
    call_off(Topology::kOperator, "operator");
    now += 1ms;
    learn();
    now += 20s;
    arrive();
    wait(1min);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it reached a worker after it had ended")));
}

TEST_F(CancelToldTest, AnOperatorsOwnCancellationIsTheOperatorsBusiness) {
    move("RUNNING");
    send();
    arrive();
    now += 1s;
    move("CANCELLED", Topology::kOperator);
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, NoWorkerIsToldToLeaveOffAJobThatGoesOn) {
    move("RUNNING");
    call_off(Topology::kGateway, "somebody");
    EXPECT_THAT(judge.found, IsEmpty()) << "users may ask for what they like";
    call_off();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its worker is told to leave off, and it is RUNNING")));
}

TEST_F(CancelToldTest, WhatSomebodyElseAsksForIsDone) {
    move("RUNNING");
    hear();
    move("CANCELLED");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GE(oracle->exercised(), 1U);
}

TEST_F(CancelToldTest, AJobThatWasToBeCancelledDoesNotGoOn) {
    move("PENDING");
    hear();
    wait(2s);
    EXPECT_THAT(judge.found, IsEmpty()) << "there is still time";
    wait(2s);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("that it is to be cancelled, and it is still PENDING")));
}

TEST_F(CancelToldTest, OfManyWordsTheLastHasMoreTime) {
    move("PENDING");
    for (int i = 0; i < 33; ++i) hear();
    wait(4s);
    EXPECT_EQ(judge.found.size(), 32U);
    wait(2s);
    EXPECT_EQ(judge.found.size(), 33U);
}

TEST_F(CancelToldTest, NobodyIsAskedAboutAJobThatIsNotKnownOrByASchedulersOwnWord) {
    hear();
    move("PENDING");
    hear("cordum-scheduler");
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, WhatRedisHasForgottenIsNotJudged) {
    move("RUNNING");
    move("TIMEOUT");
    testing::take_back(judge, watch(), "J");
    call_off();
    wait(1min);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CancelToldTest, WhatRedisHasKeptIsJudgedOn) {
    move("RUNNING");
    move("TIMEOUT");
    testing::take_back(judge, watch(), "another");
    wait(1min);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J: it timed out")));
}

}  // namespace
}  // namespace lockstep::sim
