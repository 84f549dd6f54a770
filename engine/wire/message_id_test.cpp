#include "engine/wire/message_id.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"

namespace lockstep::engine::wire {
namespace {

cap::BusPacket request(std::string job_id, std::string label = "") {
    cap::BusPacket packet;
    packet.mutable_job_request()->set_job_id(std::move(job_id));
    if (!label.empty()) (*packet.mutable_job_request()->mutable_labels())[std::string(kMessageIdLabel)] = label;
    return packet;
}

// BUS-06
TEST(MessageId, OfARequestIsItsJobAndNotItsSubject) {
    EXPECT_EQ(message_id(request("J1"), "sys.job.submit"), "jobreq:J1");
    EXPECT_EQ(message_id(request(" J1\n"), "job.default"), "jobreq:J1");
}

// BUS-06
TEST(MessageId, OfARequestWithTheLabelIsSubjectAndLabel) {
    EXPECT_EQ(message_id(request("J1", " approval:J1 "), "sys.job.submit"), "jobreq:sys.job.submit:approval:J1");
    EXPECT_EQ(message_id(request("J1", "  "), "sys.job.submit"), "jobreq:J1") << "a blank label is none";
}

// BUS-06
TEST(MessageId, OfAResultIsSubjectAndJob) {
    cap::BusPacket packet;
    packet.mutable_job_result()->set_job_id(" J1 ");
    EXPECT_EQ(message_id(packet, "sys.job.result"), "sys.job.result:J1");
    EXPECT_EQ(message_id(packet, "sys.job.dlq"), "sys.job.dlq:J1");
}

// BUS-06
TEST(MessageId, OfHeartbeatsAndHandshakesNamesTheSender) {
    cap::BusPacket beat;
    beat.mutable_heartbeat()->set_worker_id("w1");
    EXPECT_EQ(message_id(beat, "sys.heartbeat"), "sys.heartbeat:w1");
    cap::BusPacket hello;
    hello.mutable_handshake()->set_component_id("scheduler");
    EXPECT_EQ(message_id(hello, "sys.handshake"), "handshake:scheduler");
}

// BUS-06
TEST(MessageId, IsEmptyWhereThereIsNothingToNameTheMessageBy) {
    EXPECT_EQ(message_id(cap::BusPacket(), "sys.job.submit"), "");
    EXPECT_EQ(message_id(request("  "), "sys.job.submit"), "");
    cap::BusPacket packet;
    packet.mutable_job_result();
    EXPECT_EQ(message_id(packet, "sys.job.result"), "");
    packet.mutable_heartbeat();
    EXPECT_EQ(message_id(packet, "sys.heartbeat"), "");
    packet.mutable_handshake();
    EXPECT_EQ(message_id(packet, "sys.handshake"), "");
    packet.mutable_job_progress()->set_job_id("J1");
    EXPECT_EQ(message_id(packet, "sys.job.progress"), "");
    packet.mutable_job_cancel()->set_job_id("J1");
    EXPECT_EQ(message_id(packet, "sys.job.cancel"), "");
    packet.mutable_alert()->set_message("m");
    EXPECT_EQ(message_id(packet, "sys.alert"), "");
}

// BUS-06: a second dispatch must not look like the first one to the stream.
TEST(MessageId, OfADispatchCountsTheDispatches) {
    EXPECT_EQ(dispatch_message_id(JobId("J1"), DispatchNumber(1)), "jobreq:J1:1");
    EXPECT_EQ(dispatch_message_id(JobId("J1"), DispatchNumber(2)), "jobreq:J1:2");
}

TEST(MessageId, LabelIsStrippedAndOthersStay) {
    auto packet = request("J1", "approval:J1");
    auto& job = *packet.mutable_job_request();
    (*job.mutable_labels())["zone"] = "eu";
    strip_message_id_label(job);
    EXPECT_EQ(job.labels().size(), 1U);
    EXPECT_TRUE(job.labels().contains("zone"));
    strip_message_id_label(job);
    EXPECT_EQ(job.labels().size(), 1U);
}

}  // namespace
}  // namespace lockstep::engine::wire
