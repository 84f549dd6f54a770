#include "engine/output/output_verdict.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using Json = nlohmann::json;

cap_output::OutputCheckResponse answer(int decision) {
    cap_output::OutputCheckResponse response;
    response.set_decision(static_cast<cap_output::OutputDecision>(decision));
    return response;
}

// C-18, D-31
TEST(OutputVerdict, ADecisionThatNobodyKnowsIsNone) {
    EXPECT_EQ(verdict_from(answer(0)).value().decision, OutputDecision::allow);
    EXPECT_EQ(verdict_from(answer(1)).value().decision, OutputDecision::quarantine);
    EXPECT_EQ(verdict_from(answer(2)).value().decision, OutputDecision::redact);
    for (const int decision : {3, 99, -1}) EXPECT_EQ(verdict_from(answer(decision)), std::nullopt) << decision;
}

TEST(OutputVerdict, ADenialOfAnotherWriterIsAQuarantine) {
    const auto verdict = parse_output_record(R"({"decision": "DENY"})");
    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->withheld());
}

// OUT-13
TEST(OutputVerdict, TheRecordKeepsFindingsPointersPhaseAndTime) {
    auto response = answer(2);
    response.set_reason("private data");
    response.set_rule_id("r");
    response.set_policy_snapshot("snap");
    auto& told = *response.add_findings();
    told.set_type("pii");
    told.set_severity("high");
    told.set_detail("mail \"address\"");
    told.set_scanner("pii");
    told.set_matched_pattern("\\w+@");
    told.set_confidence(0.9F);
    told.set_offset(7);
    told.set_length(12);
    OutputVerdict verdict = verdict_from(response).value();
    verdict.redacted_ptr = "redis://res:j1:redacted:0123456789abcdef";
    verdict.original_ptr = "redis://res:j1";
    verdict.phase = OutputPhase::async;
    verdict.took = std::chrono::milliseconds{12};
    verdict.checked_at = 1'767'225'600'000'001;
    const std::string record = output_record(verdict);
    const auto read_back = parse_output_record(record);
    ASSERT_TRUE(read_back);
    EXPECT_EQ(*read_back, verdict);
    const Json json = Json::parse(record);
    EXPECT_EQ(json.at("decision"), "REDACT");
    EXPECT_EQ(json.at("phase"), "async");
    EXPECT_EQ(json.at("checked_at"), 1'767'225'600'000'001);
    EXPECT_EQ(json.at("findings").at(0).at("confidence").dump(), "0.9");
}

TEST(OutputVerdict, WhatIsEmptyIsLeftOut) {
    OutputVerdict verdict;
    verdict.findings.emplace_back();
    EXPECT_EQ(output_record(verdict),
              R"({"checked_at":0,"decision":"ALLOW","findings":[{"detail":""}],"phase":"sync"})");
}

TEST(OutputVerdict, WhatIsNoRecordIsNone) {
    for (const char* text : {"", "[]", "{}", R"({"decision":"MAYBE"})", R"({"decision":1})", "{broken"})
        EXPECT_FALSE(parse_output_record(text)) << text;
}

// The output is quoted in findings, and it is any bytes.
TEST(OutputVerdict, BytesThatAreNoTextDoNotSpoilTheRecord) {
    OutputVerdict verdict;
    verdict.reason = "found \xff\xfe";
    EXPECT_TRUE(parse_output_record(output_record(verdict)));
}

}  // namespace
}  // namespace lockstep::engine
