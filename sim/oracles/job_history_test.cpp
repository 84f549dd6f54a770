#include "sim/oracles/job_history.h"

#include <gmock/gmock.h>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobHistoryTest : public ::testing::Test {
protected:
    void tell(EventKind kind, When when, bool flag = false, std::string_view to = {}) {
        fakes::Event event = testing::event_of(kind, "J", when);
        event.flag = flag;
        event.to = to;
        judge.tell(oracle, event, {});
    }
    void submit() {
        tell(EventKind::submit, When::before);
        state("", "PENDING");
        tell(EventKind::submit, When::answered, true);
    }
    void state(std::string_view from, std::string_view to) {
        judge.tell(oracle, testing::state_event("J", from, to), {});
    }
    void policy(std::string_view decision) { tell(EventKind::kernel_check, When::applied, false, decision); }
    void send() {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id("J");
        tell_packet(EventKind::publish, When::before, "worker.w.jobs", packet);
    }
    /// As Redis has it from now on.
    void is_out_to(std::string_view worker) {
        judge.hash_set(oracle, {}, "job:meta:J", "ls_worker", nullptr, worker);
        judge.hash_set(oracle, {}, "job:meta:J", "state", nullptr, "RUNNING");
        ++judge.number;
    }
    void result(cap::JobStatus status, EventKind kind, When when, std::string_view durable = kSchedulersResults) {
        cap::BusPacket packet;
        packet.mutable_job_result()->set_job_id("J");
        packet.mutable_job_result()->set_worker_id(reporter);
        packet.mutable_job_result()->set_status(status);
        tell_packet(kind, when, "sys.job.result", packet, durable);
    }
    /// The result that is in hand.
    void mark_as_dealt_with() {
        keys.add_observer(oracle);
        keys.set_string(std::string(kMarkPrefix) + "7:" + std::string(kSchedulersResults), "1", fakes::redis::kNever);
        ++judge.number;
    }
    const char* reporter = "w";
    void run() {
        policy("ALLOW");
        state("PENDING", "SCHEDULED");
        state("SCHEDULED", "DISPATCHED");
        send();
        state("DISPATCHED", "RUNNING");
    }
    reports::Histories at_rest() {
        oracle.at_rest({keys});
        reports::Histories histories;
        oracle.tally(histories);
        return histories;
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    JobHistory oracle{judge, tunables, {}};
    fakes::redis::Keyspace keys;

    void tell_packet(EventKind kind, When when, std::string_view subject, const cap::BusPacket& packet,
                     std::string_view durable = {}) {
        fakes::Event event = testing::event_of(kind, "J", when);
        event.subject = subject;
        event.name = durable;
        event.sequence = 7;
        event.packet = &packet;
        ++judge.number;
        judge.tell(oracle, event, {});
    }
};

// A gateway, or whoever else may publish there, without any operator of this world.
TEST_F(JobHistoryTest, WhatIsPublishedForCancellationIsACancellation) {
    submit();
    run();
    cap::BusPacket packet;
    packet.set_sender_id("stranger");
    packet.mutable_job_cancel()->set_job_id("J");
    tell_packet(EventKind::core_publish, When::before, "sys.job.cancel", packet);
    state("RUNNING", "CANCELLED");
    at_rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, WhatASchedulerBroadcastsCancelsNothing) {
    submit();
    run();
    cap::BusPacket packet;
    packet.set_sender_id("cordum-scheduler");
    packet.mutable_job_cancel()->set_job_id("J");
    tell_packet(EventKind::core_publish, When::before, "sys.job.cancel", packet);
    state("RUNNING", "CANCELLED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has cancelled it")));
}

// Its durable has not delivered it, and it names the job with white space around.
TEST_F(JobHistoryTest, WhoReadsASubmissionInTheStreamKnowsItsJob) {
    for (const EventKind how : {EventKind::read_back, EventKind::deliver}) {
        const std::string job = how == EventKind::deliver ? "D" : "R";
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id(job);
        const std::string named = job + " ";
        fakes::Event event = testing::event_of(how, named);
        event.subject = "sys.job.submit";
        event.packet = &packet;
        judge.tell(oracle, event, {});
        judge.tell(oracle, testing::state_event(job, "", "PENDING"), {});
    }
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, AnOrdinaryLifeIsExplained) {
    submit();
    run();
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied);
    state("RUNNING", "SUCCEEDED");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::ack, When::before);
    EXPECT_EQ(at_rest().held, 1U);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, ASuccessNeedsAWorkerThatReportsIt) {
    submit();
    run();
    result(cap::JOB_STATUS_FAILED, EventKind::deliver, When::applied);
    state("RUNNING", "SUCCEEDED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no worker has reported a success")));
    EXPECT_EQ(at_rest().violated, 1U);
}

TEST_F(JobHistoryTest, ASuccessThatNamesNoWorkerIsNobodysReport) {
    submit();
    run();
    reporter = "";
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied);
    state("RUNNING", "SUCCEEDED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no worker has reported a success")));
}

/// Approved, so that it only remains to be said.
class ApprovedGateTest : public JobHistoryTest {
protected:
    ApprovedGateTest() {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id("J");
        packet.mutable_job_request()->set_topic("job.cordum.approval-gate");
        tell_packet(EventKind::publish, When::before, "sys.job.submit", packet);
        submit();
        policy("REQUIRE_APPROVAL");
        state("PENDING", "APPROVAL_REQUIRED");
        tell(EventKind::approve, When::before);
    }
    void open() {
        fakes::Event event = testing::state_event("J", "APPROVAL_REQUIRED", "SUCCEEDED");
        event.node = fakes::NodeId{5};
        judge.tell(oracle, event, {});
    }
};

TEST_F(ApprovedGateTest, IsOpenOnceTheStreamHasBeenTold) {
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::stored, When::applied);
    open();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ApprovedGateTest, OrHasAcknowledgedThatItHadBeen) {
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::publish, When::answered);
    open();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ApprovedGateTest, AndNotBefore) {
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::publish, When::before);
    result(cap::JOB_STATUS_FAILED, EventKind::stored, When::applied);
    open();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no stream has taken the result that says so")));
}

TEST_F(JobHistoryTest, AResultThatIsTakenOffTheStreamHasEndedItsJob) {
    submit();
    run();
    is_out_to("w");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied);
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::ack, When::before);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is taken off the stream, and it is still RUNNING")));
}

// D-05
TEST_F(JobHistoryTest, AResultOfAnotherWorkerBindsNobody) {
    submit();
    run();
    is_out_to("x");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied);
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::ack, When::before);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, NorDoesOneThatCameBeforeItsJobWasSentOut) {
    submit();
    policy("ALLOW");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied);
    is_out_to("w");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::ack, When::before);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, NorDoesOneThatWasDealtWithBeforeThatAndComesOnceMore) {
    submit();
    run();
    mark_as_dealt_with();
    fakes::Event cut = testing::event_of(EventKind::fault, "", When::before);
    cut.name = "nats.power_cut";
    judge.tell(oracle, cut, {});
    is_out_to("w");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied);
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::ack, When::before);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, AnotherOneThatHasItsNumberSinceAPowerCutHasEndedIt) {
    submit();
    run();
    mark_as_dealt_with();
    is_out_to("w");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::stored, When::applied);
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied);
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::ack, When::before);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is taken off the stream, and it is still RUNNING")));
}

TEST_F(JobHistoryTest, OneThatWasDealtWithSinceHasEndedIt) {
    submit();
    run();
    is_out_to("w");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied);
    mark_as_dealt_with();
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::ack, When::before);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is taken off the stream, and it is still RUNNING")));
}

// D-09
TEST_F(JobHistoryTest, AnInputThatWasLookedForInVainExplainsADenial) {
    for (const int looks : {4, 3}) {
        testing::KeepingJudge looker;
        JobHistory other(looker, tunables, {});
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id("J");
        packet.mutable_job_request()->set_context_ptr("redis://ctx:J");
        fakes::Event request = testing::event_of(EventKind::deliver, "J");
        request.subject = "sys.job.submit";
        request.packet = &packet;
        looker.tell(other, request, {});
        fakes::Event look = testing::event_of(EventKind::redis, "", When::answered);
        look.command = "GETRANGE";
        look.key = "ctx:J";
        look.payload = "$-1\r\n";
        for (int i = 0; i < looks; ++i) looker.tell(other, look, {});
        looker.tell(other, testing::state_event("J", "PENDING", "DENIED"), {});
        EXPECT_EQ(looker.found.empty(), looks == 4);
    }
}

TEST_F(JobHistoryTest, TheInputOfAJobIsThatOfItsStoredRequest) {
    const auto request = [](const char* pointer) {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id("J");
        packet.mutable_job_request()->set_context_ptr(pointer);
        return packet;
    };
    const auto look = [this](const char* key) {
        fakes::Event event = testing::event_of(EventKind::redis, "", When::answered);
        event.command = "GETRANGE";
        event.key = key;
        event.payload = "$-1\r\n";
        for (int i = 0; i < 4; ++i) judge.tell(oracle, event, {});
    };
    const auto stored = engine::wire::to_json(request("redis://ctx:J").job_request());
    judge.string_set(oracle, {}, "job:req:J", nullptr, stored, -1, -1);
    tell_packet(EventKind::deliver, When::applied, "sys.job.submit", request("redis://ctx:other"));
    look("ctx:other");
    state("PENDING", "DENIED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("neither policy nor a human has refused it")));
    judge.found.clear();
    tell_packet(EventKind::deliver, When::applied, "sys.job.submit", request(""));
    look("ctx:J");
    state("PENDING", "DENIED");
    EXPECT_THAT(judge.found, IsEmpty());
}

// H-10: what another service hears, and when, is nothing that a scheduler has been told.
TEST_F(JobHistoryTest, OnlyTheConsumerOfTheSchedulersTellsThemOfAResult) {
    submit();
    run();
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::deliver, When::applied, "dur_result-reader__sys_job_result");
    result(cap::JOB_STATUS_SUCCEEDED, EventKind::ack, When::before, "dur_result-reader__sys_job_result");
    EXPECT_THAT(judge.found, IsEmpty());
    state("RUNNING", "SUCCEEDED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no worker has reported a success")));
}

TEST_F(JobHistoryTest, AJobOfNobodyIsNotExplained) {
    state("", "PENDING");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has submitted it")));
}

TEST_F(JobHistoryTest, AnAnswerToACancellationBinds) {
    submit();
    tell(EventKind::cancel, When::before);
    tell(EventKind::cancel, When::answered, true);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("was told that it is cancelled")));
}

TEST_F(JobHistoryTest, ACancellationNeedsSomebodyWhoCancels) {
    submit();
    state("PENDING", "CANCELLED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has cancelled it")));
}

TEST_F(JobHistoryTest, WithoutAnAnswerBothIsPossible) {
    submit();
    tell(EventKind::cancel, When::before);
    EXPECT_EQ(at_rest().undecided, 1U);
    state("PENDING", "CANCELLED");
    EXPECT_EQ(at_rest().undecided, 1U);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, AnApprovalReleasesAndOnlyAnApproval) {
    submit();
    policy("REQUIRE_APPROVAL");
    state("PENDING", "APPROVAL_REQUIRED");
    tell(EventKind::approve, When::before);
    tell(EventKind::approve, When::answered, true);
    at_rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("still waits for an approval")));
    judge.found.clear();
    state("APPROVAL_REQUIRED", "PENDING");
    at_rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, PolicyMayAllowAJobIfAHumanDoes) {
    submit();
    cap::PolicyCheckResponse answer;
    answer.set_approval_required(true);
    const std::string bytes = answer.SerializeAsString();
    fakes::Event event = testing::event_of(EventKind::kernel_check, "J");
    event.to = "ALLOW_WITH_CONSTRAINTS";
    event.payload = bytes;
    judge.tell(oracle, event, {});
    state("PENDING", "APPROVAL_REQUIRED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, NobodyReleasesAJobUnasked) {
    submit();
    policy("REQUIRE_APPROVAL");
    state("PENDING", "APPROVAL_REQUIRED");
    state("APPROVAL_REQUIRED", "PENDING");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has approved it")));
}

TEST_F(JobHistoryTest, AGatewayThatSubmitsAgainBeginsAgain) {
    tell(EventKind::submit, When::before);
    state("", "PENDING");
    policy("REQUIRE_APPROVAL");
    state("PENDING", "APPROVAL_REQUIRED");
    tell(EventKind::submit, When::before);
    state("APPROVAL_REQUIRED", "PENDING");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(JobHistoryTest, ADenialNeedsARefusal) {
    submit();
    policy("ALLOW");
    state("PENDING", "DENIED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("neither policy nor a human has refused it")));
}

}  // namespace
}  // namespace lockstep::sim
