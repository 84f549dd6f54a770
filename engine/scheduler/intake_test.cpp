#include "engine/scheduler/intake.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <utility>

namespace lockstep::engine {
namespace {

using Kind = cap::BusPacket::PayloadCase;

constexpr std::array<std::pair<Kind, std::string_view>, 5> kPlaces{
    std::pair{Kind::kJobRequest, "sys.job.submit"}, std::pair{Kind::kJobResult, "sys.job.result"},
    std::pair{Kind::kJobCancel, "sys.job.cancel"}, std::pair{Kind::kHeartbeat, "sys.heartbeat"},
    std::pair{Kind::kHandshake, "sys.handshake"}};

TEST(Intake, EachKindOfPacketCountsOnOneSubjectOnly) {
    for (const auto& [kind, place] : kPlaces)
        for (const auto& [other, subject] : kPlaces)
            EXPECT_EQ(Intake::counts_on(kind, subject), kind == other) << kind << " on " << subject;
}

TEST(Intake, WhatASchedulerNeverActsOnCountsNowhere) {
    for (const Kind kind : {Kind::kAlert, Kind::kJobProgress, Kind::PAYLOAD_NOT_SET})
        for (const auto& [other, subject] : kPlaces)
            EXPECT_FALSE(Intake::counts_on(kind, subject)) << kind << " on " << subject;
}

}  // namespace
}  // namespace lockstep::engine
