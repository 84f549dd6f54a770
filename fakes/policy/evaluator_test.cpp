#include "fakes/policy/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/policy/test_policy.h"

namespace lockstep::fakes::policy {
namespace {

using namespace std::chrono_literals;

cap::PolicyCheckResponse check(std::string_view policy, std::string_view request) {
    return evaluator_of(policy).check(request_of(request), kNow);
}

TEST(PolicyEvaluator, WithoutAPolicyEverythingIsDenied) {
    Evaluator none;
    const auto response = none.check(request_of(R"({"topic": "job.a"})"), kNow);
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(response.reason(), "no policy loaded");
}

TEST(PolicyEvaluator, TopicsMustBeginWithJob) {
    const char* policy = R"({"default_decision": "allow"})";
    EXPECT_EQ(check(policy, R"({"topic": ""})").decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(check(policy, R"({"topic": "sys.approval.gate"})").decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(check(policy, R"({"topic": "job.a"})").decision(), cap::DECISION_TYPE_ALLOW);
}

TEST(PolicyEvaluator, TheFirstMatchingRuleWins) {
    const char* policy = R"({"default_decision": "deny", "rules": [
        {"id": "1", "match": {"topics": ["job.x"]}, "decision": "deny", "reason": "no x"},
        {"id": "2", "match": {"topics": ["job.*"]}, "decision": "allow", "reason": "fine"},
        {"id": "3", "decision": "deny"}]})";
    const auto x = check(policy, R"({"topic": "job.x"})");
    EXPECT_EQ(x.decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(x.rule_id(), "1");
    EXPECT_EQ(x.reason(), "no x");
    const auto y = check(policy, R"({"topic": "job.y"})");
    EXPECT_EQ(y.decision(), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(y.rule_id(), "2");
    EXPECT_EQ(y.reason(), "");  // not told for an allow
    EXPECT_EQ(y.policy_snapshot(), "snap");
}

TEST(PolicyEvaluator, WithoutAMatchTheDefaultDecides) {
    EXPECT_EQ(check("{}", R"({"topic": "job.x"})").decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(check(R"({"default_decision": "allow"})", R"({"topic": "job.x"})").decision(), cap::DECISION_TYPE_ALLOW);
}

TEST(PolicyEvaluator, AnApprovalNamesTheJobAsItsReference) {
    const auto response = check(R"({"rules": [{"id": "ask", "decision": "require_approval", "reason": "sensitive"}]})",
                                R"({"jobId": "j1", "topic": "job.x"})");
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_REQUIRE_HUMAN);
    EXPECT_TRUE(response.approval_required());
    EXPECT_EQ(response.approval_ref(), "j1");
    EXPECT_EQ(response.reason(), "sensitive");
}

TEST(PolicyEvaluator, AThrottleIsToldWithItsReason) {
    const auto response = check(R"({"rules": [{"decision": "throttle", "reason": "busy"}]})", R"({"topic": "job.x"})");
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_THROTTLE);
    EXPECT_EQ(response.reason(), "busy");
    EXPECT_FALSE(response.approval_required());
}

TEST(PolicyEvaluator, AnAllowWithLimitsIsToldAsSuch) {
    const auto response = check(R"({"rules": [{"decision": "allow", "constraints": {
        "budgets": {"max_runtime_ms": 2000, "max_artifact_bytes": 1024, "max_concurrent_jobs": 3, "max_retries": 2},
        "redaction_level": "high"}}]})",
                                R"({"topic": "job.x"})");
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
    EXPECT_EQ(response.constraints().budgets().max_concurrent_jobs(), 3);
    EXPECT_EQ(response.constraints().redaction_level(), "high");
    const auto plain =
        check(R"({"rules": [{"decision": "allow", "constraints": {"budgets": {}}}]})", R"({"topic": "job.x"})");
    EXPECT_EQ(plain.decision(), cap::DECISION_TYPE_ALLOW);
    EXPECT_FALSE(plain.has_constraints());
}

TEST(PolicyEvaluator, RemediationsGoWithTheDecision) {
    const auto response = check(R"({"rules": [{"decision": "deny", "remediations": [
        {"id": "use-b", "replacement_topic": "job.b"}]}]})",
                                R"({"topic": "job.a"})");
    ASSERT_EQ(response.remediations_size(), 1);
    EXPECT_EQ(response.remediations(0).replacement_topic(), "job.b");
}

TEST(PolicyEvaluator, AVelocityRuleFiresOnlyBeyondItsLimit) {
    Evaluator kernel = evaluator_of(R"({"default_decision": "allow", "rules": [
        {"id": "v", "decision": "throttle",
         "velocity": {"max_requests": 2, "window_seconds": 60, "key": "tenant"}}]})");
    const auto ask = [&](const char* job, const char* tenant, engine::Duration at) {
        cap::PolicyCheckRequest request = request_of(R"({"topic": "job.x"})");
        request.set_job_id(job);
        request.set_tenant(tenant);
        return kernel.check(request, kNow + at).decision();
    };
    EXPECT_EQ(ask("a", "t", 0s), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(ask("b", "t", 1s), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(ask("a", "t", 2s), cap::DECISION_TYPE_ALLOW);  // a retry counts once
    EXPECT_EQ(ask("c", "t", 3s), cap::DECISION_TYPE_THROTTLE);
    EXPECT_EQ(ask("d", "u", 3s), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(ask("e", "t", 120s), cap::DECISION_TYPE_ALLOW);
}

// D-34
TEST(PolicyEvaluator, NoTenantCountsIntoTheBucketOfAnother) {
    Evaluator kernel = evaluator_of(R"({"default_decision": "allow", "rules": [{"id": "v", "decision": "throttle",
        "velocity": {"max_requests": 1, "window_seconds": 60, "key": "tenant:labels.session"}}]})");
    const auto ask = [&](const char* job, const char* tenant, const char* session) {
        cap::PolicyCheckRequest request = request_of(R"({"topic": "job.x"})");
        request.set_job_id(job);
        request.set_tenant(tenant);
        (*request.mutable_labels())["session"] = session;
        return kernel.check(request, kNow).decision();
    };
    EXPECT_EQ(ask("1", "a:b", "c"), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(ask("2", "a", "b:c"), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(ask("3", "a", "b:c"), cap::DECISION_TYPE_THROTTLE);
}

TEST(PolicyEvaluator, AVelocityRuleWithoutAValueToCountByIsPassedOver) {
    Evaluator kernel = evaluator_of(R"({"default_decision": "allow", "rules": [{"decision": "deny",
        "velocity": {"max_requests": 1, "window_seconds": 60, "key": "tenant:labels.session"}}]})");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(kernel.check(request_of(R"({"topic": "job.x"})"), kNow).decision(), cap::DECISION_TYPE_ALLOW);
    }
}

TEST(PolicyEvaluator, WithoutRulesTheTopicsOfTheTenantDecide) {
    const char* policy = R"({"tenants": {"acme": {"allow_topics": ["job.*"], "deny_topics": ["job.admin*"]}}})";
    EXPECT_EQ(check(policy, R"({"tenant": "acme", "topic": "job.x"})").decision(), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(check(policy, R"({"tenant": "acme", "topic": "job.admin.drop"})").decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(check(policy, R"({"tenant": "other", "topic": "job.x"})").decision(), cap::DECISION_TYPE_DENY);
}

TEST(PolicyEvaluator, TheTenantsToolServersMayDeny) {
    const char* policy = R"({"rules": [{"decision": "allow"}], "tenants": {"acme": {"mcp": {"deny_tools": ["rm"]}}}})";
    const auto denied = check(policy, R"({"tenant": "acme", "topic": "job.x", "labels": {"mcp.tool": "rm"}})");
    EXPECT_EQ(denied.decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(denied.reason(), "mcp tool 'rm' denied for tenant 'acme'");
    EXPECT_EQ(check(policy, R"({"tenant": "b", "topic": "job.x", "labels": {"mcp.tool": "rm"}})").decision(),
              cap::DECISION_TYPE_ALLOW);
}

TEST(PolicyEvaluator, TheEffectiveConfigurationMayDeny) {
    Evaluator kernel = evaluator_of(R"({"default_decision": "allow"})");
    const auto ask = [&](const char* config) {
        cap::PolicyCheckRequest request = request_of(R"({"topic": "job.x", "labels": {"mcp.server": "s"}})");
        request.set_effective_config(config);
        return kernel.check(request, kNow).decision();
    };
    EXPECT_EQ(ask(R"({"safety": {"denied_topics": ["job.*"]}})"), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(ask(R"({"data": {"safety": {"denied_topics": ["job.x"], "enabled": true}}})"), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(ask(R"({"safety": {"allowed_topics": ["job.y"]}})"), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(ask(R"({"safety": {"allowed_topics": ["job.x"]}})"), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(ask(R"({"safety": {"mcp": {"deny_servers": ["s"]}}})"), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(ask("not json"), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(ask(""), cap::DECISION_TYPE_ALLOW);
}

TEST(PolicyEvaluator, InputRulesJudgeContentOfAllowedRequests) {
    Evaluator kernel = evaluator_of(R"({"rules": [
          {"match": {"topics": ["job.no"]}, "decision": "deny", "id": "no"}, {"decision": "allow", "id": "yes"}],
        "input_rules": [
          {"id": "off", "enabled": false, "decision": "deny"},
          {"id": "ssn", "decision": "require_approval", "match": {"scanners": ["pii"]}},
          {"id": "drop", "decision": "deny", "reason": "no drops",
           "match": {"keywords": ["DROP TABLE"], "content_patterns": ["customers?"]}}]})");
    const auto ask = [&](const char* topic, const char* content) {
        cap::PolicyCheckRequest request;
        request.set_job_id("j");
        request.set_topic(topic);
        request.set_input_content(content);
        return kernel.check(request, kNow);
    };
    const auto drop = ask("job.a", "please drop table customers");
    EXPECT_EQ(drop.decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(drop.rule_id(), "drop");
    EXPECT_EQ(drop.reason(), "no drops");
    EXPECT_EQ(ask("job.a", "please drop table orders").decision(), cap::DECISION_TYPE_ALLOW);
    const auto approval = ask("job.a", "ssn 123-45-6789");
    EXPECT_EQ(approval.decision(), cap::DECISION_TYPE_REQUIRE_HUMAN);
    EXPECT_TRUE(approval.approval_required());
    EXPECT_EQ(approval.approval_ref(), "j");
    EXPECT_EQ(ask("job.no", "ssn 123-45-6789").rule_id(), "no");
    EXPECT_EQ(ask("job.a", "").decision(), cap::DECISION_TYPE_ALLOW);
}

TEST(PolicyEvaluator, ARuleThatComesToNoEndCountsAsMatchedAndSaysSo) {
    Evaluator kernel = evaluator_of(R"({"default_decision": "allow",
        "input_rules": [{"id": "slow", "decision": "require_approval", "match": {"content_patterns": ["a.*b|a"]}}],
        "output_rules": [{"id": "slow", "decision": "quarantine", "match": {"content_patterns": ["a.*b|a"]}}]})");
    cap::PolicyCheckRequest request = request_of(R"({"topic": "job.a"})");
    request.set_input_content(std::string(1'000'000, 'a'));
    const auto answer = kernel.check(request, kNow);
    EXPECT_EQ(answer.decision(), cap::DECISION_TYPE_REQUIRE_HUMAN);
    EXPECT_THAT(answer.reason(), ::testing::HasSubstr("rule 'slow' could not be judged"));
    cap_output::OutputCheckRequest output;
    output.set_output_content(std::string(1'000'000, 'a'));
    EXPECT_THAT(kernel.check_output(output, {}).reason(), ::testing::HasSubstr("rule 'slow' could not be judged"));
}

TEST(PolicyEvaluator, InputRulesJudgeSizeAndType) {
    Evaluator kernel = evaluator_of(R"({"default_decision": "allow", "input_rules": [
        {"decision": "deny", "match": {"input_size_gt": 10, "content_types": ["text/plain"]}}]})");
    const auto ask = [&](std::int64_t size, const char* type) {
        cap::PolicyCheckRequest request = request_of(R"({"topic": "job.a"})");
        request.set_input_size_bytes(size);
        request.set_input_content_type(type);
        return kernel.check(request, kNow).decision();
    };
    EXPECT_EQ(ask(10, "text/plain"), cap::DECISION_TYPE_ALLOW);
    EXPECT_EQ(ask(11, "text/plain; charset=utf-8"), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(ask(11, "image/png"), cap::DECISION_TYPE_ALLOW);
}

TEST(PolicyEvaluator, SwitchedOffInputRulesJudgeNothing) {
    EXPECT_EQ(check(R"({"default_decision": "allow", "input_policy": {"enabled": false},
                        "input_rules": [{"decision": "deny"}]})",
                    R"({"topic": "job.a"})")
                  .decision(),
              cap::DECISION_TYPE_ALLOW);
}

TEST(PolicyEvaluator, AForcedDecisionReplacesTheRules) {
    cap::PolicyCheckResponse response =
        check(R"({"rules": [{"decision": "allow", "id": "r"}]})", R"({"topic": "job.a"})");
    force_decision(response, "require_approval", "j");
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_REQUIRE_HUMAN);
    EXPECT_EQ(response.approval_ref(), "j");
    force_decision(response, "unspecified", "j");
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_UNSPECIFIED);
    EXPECT_FALSE(response.approval_required());
    EXPECT_EQ(recorded_name(response.decision()), "UNSPECIFIED");
}

TEST(PolicyEvaluator, WhatIsAllowedIfItIsApprovedKeepsItsConstraints) {
    cap::PolicyCheckResponse response =
        check(R"({"rules": [{"decision": "allow", "constraints": {"budgets": {"max_retries": 2}}}]})",
              R"({"topic": "job.a"})");
    force_decision(response, "allow_if_approved", "j");
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
    EXPECT_TRUE(response.approval_required());
    EXPECT_EQ(response.constraints().budgets().max_retries(), 2);
    response.clear_constraints();
    force_decision(response, "allow_if_approved", "j");
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_ALLOW);
    EXPECT_TRUE(response.approval_required());
}

TEST(PolicyEvaluator, AnotherDocumentKeepsTheVelocityCounters) {
    const char* policy = R"({"default_decision": "allow", "rules": [{"id": "v", "decision": "deny",
        "velocity": {"max_requests": 1, "window_seconds": 60, "key": "topic"}}]})";
    Evaluator kernel = evaluator_of(policy);
    EXPECT_EQ(kernel.check(request_of(R"({"jobId": "a", "topic": "job.x"})"), kNow).decision(),
              cap::DECISION_TYPE_ALLOW);
    kernel.replace(document_of(policy), "later");
    const auto response = kernel.check(request_of(R"({"jobId": "b", "topic": "job.x"})"), kNow);
    EXPECT_EQ(response.decision(), cap::DECISION_TYPE_DENY);
    EXPECT_EQ(response.policy_snapshot(), "later");
}

}  // namespace
}  // namespace lockstep::fakes::policy
