#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;
namespace wire = engine::wire;

class MessagesTrue : public RuleTest {
protected:
    MessagesTrue() : RuleTest(rules::messages_true) {
        packet.set_sender_id("cordum-scheduler");
        packet.set_trace_id("a");
        packet.set_protocol_version(1);
        packet.mutable_created_at()->set_seconds((now - Time{}) / 1s);
        packet.mutable_job_result()->set_job_id("a");
        set_field("a", "trace_id", "t");
    }
    /// A command tells what time it is.
    void publish(std::string_view subject, std::string_view message_id) {
        by_command(kReplica, {"GET"}, [] {});
        observe(EventKind::publish, "a", {.subject = subject, .message_id = message_id, .packet = &packet},
                When::before);
    }
    void publish_letter() { publish(wire::kSubjectDlq, "sys.job.dlq:a"); }

    cap::BusPacket packet;
};

TEST_F(MessagesTrue, ALetterIsAddressedAsDocumented) {
    publish_letter();
    packet.mutable_job_result()->set_error_code("quarantine_failed");
    publish(wire::kSubjectDlq, "sys.job.dlq:quarantine_failed:a");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 2U);
}

TEST_F(MessagesTrue, AnotherVersionIsNoticed) {
    packet.set_protocol_version(2);
    publish_letter();
    EXPECT_THAT(found, ElementsAre(HasSubstr("is of version 2")));
}

TEST_F(MessagesTrue, AnotherSenderIsNoticed) {
    packet.set_sender_id("somebody");
    publish_letter();
    EXPECT_THAT(found, ElementsAre(HasSubstr("is sent by somebody")));
}

TEST_F(MessagesTrue, AnotherTraceIsNoticed) {
    packet.set_trace_id("b");
    publish_letter();
    EXPECT_THAT(found, ElementsAre(HasSubstr("has the trace b, which is a")));
}

TEST_F(MessagesTrue, ADispatchGoesUnderTheTraceOfItsJob) {
    packet.mutable_job_request()->set_job_id("a");
    packet.set_trace_id("t");
    set_field("a", "ls_dispatches", "1");
    set_field("a", "ls_worker", "w");
    publish("worker.w.jobs", "jobreq:a:1");
    EXPECT_THAT(found, IsEmpty());
    publish("worker.w.jobs", "jobreq:a:2");
    publish("worker.v.jobs", "jobreq:a:1");
    EXPECT_THAT(found, ElementsAre(HasSubstr("has the message id jobreq:a:2, which is jobreq:a:1"),
                                   HasSubstr("is published for worker v, and its record says 'w'")));
    found.clear();
    grant_lock("cordum:scheduler:job:a", kReplica, "a");
    set_field("a", "trace_id", "later", Topology::kGateway);
    publish("worker.w.jobs", "jobreq:a:1");
    EXPECT_THAT(found, IsEmpty()) << "its handler goes by what it found";
    set_field("a", "trace_id", "t", Topology::kGateway);
    packet.set_trace_id("a");
    publish("worker.w.jobs", "jobreq:a:1");
    EXPECT_THAT(found, ElementsAre(HasSubstr("has the trace a, which is t")));
    found.clear();
    fault("corrupt");
    publish("worker.w.jobs", "jobreq:a:1");
    EXPECT_THAT(found, IsEmpty()) << "its handler may have been delivered something else than the one that wrote t";
}

TEST_F(MessagesTrue, AnotherMessageIdIsNoticed) {
    publish(wire::kSubjectDlq, "a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("has the message id a, which is sys.job.dlq:a")));
}

TEST_F(MessagesTrue, AnotherTimeIsNoticedUnlessClocksWereSet) {
    packet.mutable_created_at()->set_seconds(packet.created_at().seconds() - 120);
    publish_letter();
    EXPECT_THAT(found, ElementsAre(HasSubstr("was made -120000 ms from now")));
    fault("clock_jump");
    publish_letter();
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(MessagesTrue, WhatIsSentForARunHasStoodInAnOutbox) {
    packet.set_sender_id("workflow-engine");
    packet.mutable_alert()->set_message("one");
    const std::string asked_for = packet.SerializeAsString();
    by_command(kReplica, {"EVALSHA"}, [&] { keys.hash_set(at<Hash>("lockstep:wf:outbox:r"), "a:1", asked_for); });
    const auto send = [this] {
        const std::string bytes = packet.SerializeAsString();
        observe(EventKind::core_publish, "",
                {.subject = wire::kSubjectWorkflowEvent, .payload = bytes, .packet = &packet}, When::before);
    };
    send();
    EXPECT_THAT(found, IsEmpty());
    packet.mutable_alert()->set_message("another");
    send();
    EXPECT_THAT(found, ElementsAre(HasSubstr("on sys.workflow.event what no outbox of runs has had")));
}

TEST_F(MessagesTrue, WhatNoDocumentKnowsIsNoticed) {
    publish("sys.job.rumour", "");
    EXPECT_THAT(found, ElementsAre(HasSubstr("no document knows on sys.job.rumour")));
}

TEST_F(MessagesTrue, CancellationsAndAuditsAreAddressedAsDocumented) {
    const auto tell = [this](std::string_view subject) {
        by_command(kReplica, {"GET"}, [] {});
        observe(EventKind::core_publish, "a", {.subject = subject, .packet = &packet}, When::before);
    };
    packet.mutable_job_cancel()->set_reason("its tenant said so");
    packet.mutable_job_cancel()->set_job_id("a");
    packet.mutable_job_cancel()->set_reason("enough");
    tell(wire::kSubjectCancel);
    packet.mutable_job_progress()->set_job_id("a");
    tell(wire::kSubjectAuditOutputPolicy);
    EXPECT_THAT(found, IsEmpty());
    tell(wire::kSubjectCancel);
    EXPECT_THAT(found, SizeIs(1)) << "it is no cancellation";
}

TEST_F(MessagesTrue, AHandshakeSaysWhatItsSenderIs) {
    cap::Handshake& handshake = *packet.mutable_handshake();
    handshake.set_component_id("scheduler");
    handshake.set_role(cap::COMPONENT_ROLE_SCHEDULER);
    handshake.add_supported_versions(1);
    handshake.set_sdk_version("1");
    for (const char* name : {"safety_check", "routing", "compensation"})
        (*handshake.mutable_capabilities())[name] = true;
    packet.set_sender_id("scheduler");
    const auto say = [this] {
        observe(EventKind::core_publish, "", {.subject = wire::kSubjectHandshake, .packet = &packet}, When::before);
    };
    say();
    EXPECT_THAT(found, IsEmpty());
    handshake.mutable_capabilities()->erase("routing");
    say();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it lacks the capability routing")));
}

}  // namespace
}  // namespace lockstep::sim
