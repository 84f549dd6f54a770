#include "engine/store/dead_letter.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{1'767'225'600s + 123'456us};

TEST(DeadLetter, TheEntryReadsBack) {
    const DeadLetter letter{"j1", "job.default", cap::JOB_STATUS_DENIED, "said \"no\"\n", "safety_denied"};
    const std::string entry = dead_letter_head(letter, kNow) + R"(,"last_state":"PENDING","attempts":3})";
    const auto read = parse_dead_letter(entry);
    ASSERT_TRUE(read) << entry;
    EXPECT_EQ(read->id, letter.id);
    EXPECT_EQ(read->topic, letter.topic);
    EXPECT_EQ(read->status, letter.status);
    EXPECT_EQ(read->reason, letter.reason);
    EXPECT_EQ(read->reason_code, letter.reason_code);
}

TEST(DeadLetter, EmptyPartsAreLeftOut) {
    EXPECT_EQ(dead_letter_head({"j1", {}, {}, {}, {}}, kNow),
              R"({"created_at":"2026-01-01T00:00:00.123456Z","job_id":"j1")");
}

TEST(DeadLetter, BytesThatAreNoTextDoNotStopIt) {
    const std::string entry = dead_letter_head({"j1", {}, {}, "\xff\xfe", "x"}, kNow) + "}";
    EXPECT_TRUE(parse_dead_letter(entry)) << entry;
}

TEST(DeadLetter, WhatIsNoEntryIsNotRead) {
    for (const char* text : {"", "null", "[]", "{", "{}", R"({"job_id":""})", R"({"job_id":7})"})
        EXPECT_FALSE(parse_dead_letter(text)) << text;
}

TEST(DeadLetter, ThePacketCarriesCodeAndReason) {
    const auto packet = dead_letter_packet({"j1", "t", cap::JOB_STATUS_FAILED, "why", "max_scheduling_retries"}, kNow);
    EXPECT_EQ(packet.trace_id(), "j1");
    EXPECT_EQ(packet.sender_id(), "cordum-scheduler");
    EXPECT_EQ(packet.protocol_version(), 1);
    EXPECT_EQ(packet.job_result().job_id(), "j1");
    EXPECT_EQ(packet.job_result().status(), cap::JOB_STATUS_FAILED);
    EXPECT_EQ(packet.job_result().error_code(), "max_scheduling_retries");
    EXPECT_EQ(packet.job_result().error_message(), "why");
    EXPECT_EQ(static_cast<int>(packet.job_result().error_code_enum()), 201);
}

}  // namespace
}  // namespace lockstep::engine
