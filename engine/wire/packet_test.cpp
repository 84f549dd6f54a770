#include "engine/wire/packet.h"

#include <gtest/gtest.h>

#include <chrono>

#include "engine/wire/messages.h"

namespace lockstep::engine::wire {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNoon{1'700'000'000'123'456'789ns};

cap::JobRequest request() {
    cap::JobRequest job;
    job.set_job_id("j1");
    job.set_topic("job.default");
    return job;
}

TEST(Packet, MadeHereIsReadByTheOtherSide) {
    const auto bytes = serialise(make_packet(request(), "trace", "cordum-scheduler", kNoon));
    const auto packet = decode(bytes);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->trace_id(), "trace");
    EXPECT_EQ(packet->sender_id(), "cordum-scheduler");
    EXPECT_EQ(packet->protocol_version(), 1);
    EXPECT_EQ(packet->created_at().seconds(), 1'700'000'000);
    EXPECT_EQ(packet->created_at().nanos(), 123'456'789);
    EXPECT_TRUE(packet->signature().empty());
    ASSERT_EQ(packet->payload_case(), cap::BusPacket::kJobRequest);
    EXPECT_EQ(packet->job_request().job_id(), "j1");
}

TEST(Packet, EachPayloadGoesIntoItsOwnPlace) {
    const auto place = [](auto payload) { return make_packet(std::move(payload), "", "", WallTime{}).payload_case(); };
    EXPECT_EQ(place(cap::JobRequest()), cap::BusPacket::kJobRequest);
    EXPECT_EQ(place(cap::JobResult()), cap::BusPacket::kJobResult);
    EXPECT_EQ(place(cap::JobProgress()), cap::BusPacket::kJobProgress);
    EXPECT_EQ(place(cap::JobCancel()), cap::BusPacket::kJobCancel);
    EXPECT_EQ(place(cap::Heartbeat()), cap::BusPacket::kHeartbeat);
    EXPECT_EQ(place(cap::Handshake()), cap::BusPacket::kHandshake);
    EXPECT_EQ(place(cap::SystemAlert()), cap::BusPacket::kAlert);
}

TEST(Packet, TimesBefore1970KeepTheirNanosecondsPositive) {
    const auto packet = make_packet(cap::JobCancel(), "", "", WallTime{-1ns});
    EXPECT_EQ(packet.created_at().seconds(), -1);
    EXPECT_EQ(packet.created_at().nanos(), 999'999'999);
}

// Written byte by byte from the protocol's tables, so that a wrong field number cannot hide behind its own mirror image.
TEST(Packet, BytesAreThoseOfTheProtocol) {
    cap::JobResult result;
    result.set_job_id("j");
    result.set_status(cap::JOB_STATUS_SUCCEEDED);
    result.set_worker_id("w");
    result.set_execution_ms(300);
    result.set_error_code_enum(cap::ERROR_CODE_JOB_TIMEOUT);
    EXPECT_EQ(serialise(make_packet(result, "t", "s", WallTime{1s})),
              "\x0a\x01t"                   // 1 trace_id
              "\x12\x01s"                   // 2 sender_id
              "\x1a\x02\x08\x01"            // 3 created_at { 1 seconds: 1 }
              "\x20\x01"                    // 4 protocol_version: 1
              "\x5a\x0e"                    // 11 job_result, 14 bytes
              "\x0a\x01j\x10\x05\x22\x01w"  //    1 job_id, 2 status: 5, 4 worker_id
              "\x28\xac\x02\x48\xc8\x01");  //    5 execution_ms: 300, 9 error_code_enum: 200
}

TEST(Packet, HeartbeatBytesAreThoseOfTheProtocol) {
    cap::Heartbeat beat;
    beat.set_worker_id("w");
    beat.set_pool("p");
    beat.set_max_parallel_jobs(4);
    beat.set_last_memo("m");
    beat.set_memory_load(25.250490F);  // a number without a zero byte, which would end the literal
    EXPECT_EQ(serialise(beat),
              "\x0a\x01w"             // 1 worker_id
              "\x5a\x01p"             // 11 pool
              "\x60\x04"              // 12 max_parallel_jobs
              "\x75\x01\x01\xca\x41"  // 14 memory_load
              "\x82\x01\x01m");       // 16 last_memo
}

TEST(Packet, FieldsOfLaterVersionsSurvive) {
    std::string job = serialise(request()) + "\xa2\x06\x05later";  // field 100
    std::string bytes = "\x52" + std::string(1, static_cast<char>(job.size())) + job + "\x92\x01\x05token";  // field 18
    const auto packet = decode(bytes);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->job_request().job_id(), "j1");
    EXPECT_EQ(serialise(*packet), bytes);
    // The direct path from submit to worker: the request moves into a new packet.
    const auto onward = serialise(make_packet(packet->job_request(), "", "", WallTime{}));
    EXPECT_NE(onward.find("later"), std::string::npos);
}

TEST(Packet, APayloadOfALaterVersionIsSoundAndUnknown) {
    const auto packet = decode("\xaa\x01\x02hi");  // field 21, a later member of the payload oneof
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->payload_case(), cap::BusPacket::PAYLOAD_NOT_SET);
}

TEST(Packet, AnEmptyMessageIsAPacketWithoutPayload) {
    const auto packet = decode("");
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->payload_case(), cap::BusPacket::PAYLOAD_NOT_SET);
}

TEST(Packet, BytesThatAreNoPacketAreAnErrorAndNotACrash) {
    const auto whole = serialise(make_packet(request(), "trace", "sender", kNoon));
    EXPECT_FALSE(decode(whole.substr(0, whole.size() - 1)));
    EXPECT_FALSE(decode("not a packet"));
    EXPECT_FALSE(decode("\x0a\x01\xff")) << "text that is not UTF-8, as every implementation of proto3 refuses it";
    const auto broken = decode("\xff\xff\xff\xff");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().detail, "4 bytes are not a BusPacket");
}

// The order in which entries were added must not show: protobuf's own order differs from process to process.
TEST(Packet, EqualMapsEncodeToEqualBytes) {
    cap::JobRequest forwards;
    cap::JobRequest backwards;
    for (int i = 0; i < 100; ++i) {
        (*forwards.mutable_labels())[std::to_string(i)] = "v";
        (*backwards.mutable_labels())[std::to_string(99 - i)] = "v";
    }
    EXPECT_EQ(serialise(forwards), serialise(backwards));
}

}  // namespace
}  // namespace lockstep::engine::wire
