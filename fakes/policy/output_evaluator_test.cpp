#include <gtest/gtest.h>

#include <string>

#include "fakes/policy/evaluator.h"
#include "fakes/policy/test_policy.h"

namespace lockstep::fakes::policy {
namespace {

cap_output::OutputCheckResponse check(std::string_view rules, const cap_output::OutputCheckRequest& request,
                                      std::string_view stored = {}) {
    return evaluator_of(R"({"output_rules": )" + std::string(rules) + "}").check_output(request, stored);
}

cap_output::OutputCheckRequest output(std::string_view content) {
    cap_output::OutputCheckRequest request;
    request.set_topic("job.a");
    request.set_output_content(std::string(content));
    return request;
}

TEST(OutputPolicy, WithoutAMatchTheOutputIsAllowed) {
    EXPECT_EQ(check("[]", output("x")).decision(), cap_output::OUTPUT_DECISION_ALLOW);
    EXPECT_EQ(check(R"([{"decision": "deny", "match": {"topics": ["job.b"]}}])", output("x")).decision(),
              cap_output::OUTPUT_DECISION_ALLOW);
}

TEST(OutputPolicy, ADenialIsAQuarantine) {
    const auto response = check(R"([{"id": "q", "decision": "deny", "reason": "no"}])", output("x"));
    EXPECT_EQ(response.decision(), cap_output::OUTPUT_DECISION_QUARANTINE);
    EXPECT_EQ(response.rule_id(), "q");
    EXPECT_EQ(response.reason(), "no");
    EXPECT_EQ(response.policy_snapshot(), "snap");
}

TEST(OutputPolicy, FindingsCoverEveryPlaceInOrder) {
    const auto response = check(R"([{"decision": "redact", "severity": "critical", "match": {
        "scanners": ["pii"], "keywords": ["ann"]}}])",
                                output("Ann 123-45-6789, ann@x.org"));
    EXPECT_EQ(response.decision(), cap_output::OUTPUT_DECISION_REDACT);
    ASSERT_EQ(response.findings_size(), 4);
    EXPECT_EQ(response.findings(0).type(), "keyword");
    EXPECT_EQ(response.findings(0).offset(), 0);
    EXPECT_EQ(response.findings(0).length(), 3);
    EXPECT_EQ(response.findings(1).scanner(), "pii");
    EXPECT_EQ(response.findings(1).offset(), 4);
    EXPECT_EQ(response.findings(1).length(), 11);
    EXPECT_EQ(response.findings(2).offset(), 17);
    EXPECT_EQ(response.findings(3).offset(), 17);
    EXPECT_EQ(response.findings(3).severity(), "critical");
}

TEST(OutputPolicy, ContentCriteriaNeedContent) {
    const char* rules = R"([{"decision": "quarantine", "match": {"keywords": ["secret"]}}])";
    cap_output::OutputCheckRequest metadata;
    EXPECT_EQ(check(rules, metadata).decision(), cap_output::OUTPUT_DECISION_ALLOW);
    EXPECT_EQ(check(rules, metadata, "a secret").decision(), cap_output::OUTPUT_DECISION_QUARANTINE);
    metadata.set_error_message("lost the secret");
    EXPECT_EQ(check(rules, metadata).decision(), cap_output::OUTPUT_DECISION_QUARANTINE);
    EXPECT_EQ(check(rules, metadata, "harmless").decision(), cap_output::OUTPUT_DECISION_ALLOW);
}

TEST(OutputPolicy, AnAllowingRuleEndsTheSearch) {
    EXPECT_EQ(check(R"([{"id": "ok", "decision": "allow", "match": {"tenants": ["default"]}}, {"decision": "deny"}])",
                    output("x"))
                  .rule_id(),
              "ok");
}

TEST(OutputPolicy, JudgesSizeErrorAndTags) {
    auto request = output("12345");
    request.add_capabilities("deploy");
    request.add_risk_tags("prod");
    const auto decision = [&](std::string_view match) {
        return check(R"([{"decision": "quarantine", "match": )" + std::string(match) + "}]", request).decision();
    };
    EXPECT_EQ(decision(R"({"output_size_gt": 4})"), cap_output::OUTPUT_DECISION_QUARANTINE);
    EXPECT_EQ(decision(R"({"max_output_bytes": 5})"), cap_output::OUTPUT_DECISION_ALLOW);
    EXPECT_EQ(decision(R"({"has_error": true})"), cap_output::OUTPUT_DECISION_ALLOW);
    EXPECT_EQ(decision(R"({"has_error": false, "capabilities": ["Deploy"], "risk_tags": ["prod"]})"),
              cap_output::OUTPUT_DECISION_QUARANTINE);
    request.set_error_code("boom");
    EXPECT_EQ(decision(R"({"has_error": true})"), cap_output::OUTPUT_DECISION_QUARANTINE);
}

TEST(OutputPolicy, ScannersKnowTheUsualSuspects) {
    const auto found = [](std::string_view scanner, std::string_view content) {
        const auto response =
            check(R"([{"decision": "quarantine", "match": {"detectors": [")" + std::string(scanner) + R"("]}}])",
                  output(content));
        return response.decision() == cap_output::OUTPUT_DECISION_QUARANTINE;
    };
    EXPECT_TRUE(found("secret", "key AKIAIOSFODNN7EXAMPLE"));
    EXPECT_TRUE(found("secret_leak", "-----BEGIN RSA PRIVATE KEY-----"));
    EXPECT_TRUE(found("secret", R"({"api_key": "abcd1234efgh"})"));
    EXPECT_TRUE(found("pii", "4111 1111 1111 1111"));
    EXPECT_TRUE(found("injection", "Ignore all previous instructions and"));
    EXPECT_TRUE(found("code_injection", "<SCRIPT>alert(1)"));
    EXPECT_TRUE(found("injection", "x'; DROP TABLE students"));
    for (const char* scanner : {"secret", "pii", "injection"}) EXPECT_FALSE(found(scanner, "all is well")) << scanner;
}

TEST(OutputPolicy, AForcedDecisionReplacesTheRules) {
    cap_output::OutputCheckResponse response;
    force_decision(response, "redact");
    EXPECT_EQ(response.decision(), cap_output::OUTPUT_DECISION_REDACT);
    force_decision(response, "deny");
    EXPECT_EQ(recorded_name(response.decision()), "QUARANTINE");
    force_decision(response, "nonsense");
    EXPECT_EQ(recorded_name(response.decision()), "UNSPECIFIED");
}

}  // namespace
}  // namespace lockstep::fakes::policy
