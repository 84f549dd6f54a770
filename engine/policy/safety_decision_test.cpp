#include "engine/policy/safety_decision.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using Json = nlohmann::json;

cap::PolicyCheckResponse answer(cap::DecisionType type) {
    cap::PolicyCheckResponse response;
    response.set_decision(type);
    response.set_reason("because");
    response.set_rule_id("r1");
    response.set_policy_snapshot("v1|abc");
    return response;
}

TEST(SafetyDecision, EachAnswerHasItsDecision) {
    EXPECT_EQ(decision_from(answer(cap::DECISION_TYPE_ALLOW)).decision, Decision::allow);
    EXPECT_EQ(decision_from(answer(cap::DECISION_TYPE_DENY)).decision, Decision::deny);
    EXPECT_EQ(decision_from(answer(cap::DECISION_TYPE_REQUIRE_HUMAN)).decision, Decision::require_approval);
    EXPECT_EQ(decision_from(answer(cap::DECISION_TYPE_THROTTLE)).decision, Decision::throttle);
    EXPECT_EQ(decision_from(answer(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS)).decision,
              Decision::allow_with_constraints);
    EXPECT_FALSE(decision_from(answer(cap::DECISION_TYPE_DENY)).unknown_value);
}

// SAFE-03
TEST(SafetyDecision, AnUnsetOrUnknownAnswerIsADenyUnderItsOwnCode) {
    for (const int number : {0, 6, 7, 99, -1}) {
        const auto decision = decision_from(answer(static_cast<cap::DecisionType>(number)));
        EXPECT_EQ(decision.decision, Decision::deny) << number;
        EXPECT_TRUE(decision.unknown_value) << number;
    }
}

TEST(SafetyDecision, AnAllowThatAsksForApprovalBecomesOne) {
    for (const auto type : {cap::DECISION_TYPE_ALLOW, cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS}) {
        auto response = answer(type);
        response.set_approval_required(true);
        const auto decision = decision_from(std::move(response));
        EXPECT_EQ(decision.decision, Decision::require_approval);
        EXPECT_TRUE(decision.approval_required);
    }
    auto denied = answer(cap::DECISION_TYPE_DENY);
    denied.set_approval_required(true);
    EXPECT_EQ(decision_from(std::move(denied)).decision, Decision::deny);
    EXPECT_TRUE(decision_from(answer(cap::DECISION_TYPE_REQUIRE_HUMAN)).approval_required);
}

TEST(SafetyDecision, TheRecordHasEveryKeyAndTheFormsOfTheSchema) {
    auto response = answer(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
    response.set_approval_ref("ref-1");
    response.mutable_constraints()->mutable_budgets()->set_max_runtime_ms(2000);
    auto& remediation = *response.add_remediations();
    remediation.set_id("m1");
    remediation.set_replacement_topic("job.safe");
    (*remediation.mutable_add_labels())["k"] = "v";
    remediation.add_remove_labels("x");
    auto decision = decision_from(std::move(response));
    decision.job_hash = "abc";
    EXPECT_EQ(Json::parse(decision_record(decision)), Json::parse(R"({
        "approval_ref": "ref-1", "approval_required": false, "checked_at": 0,
        "constraints": {"budgets": {"maxRuntimeMs": "2000"}}, "decision": "ALLOW_WITH_CONSTRAINTS", "job_hash": "abc",
        "policy_snapshot": "v1|abc", "reason": "because", "rule_id": "r1",
        "remediations": [{"id": "m1", "replacement_topic": "job.safe", "add_labels": {"k": "v"}, "remove_labels": ["x"]}]})"));
}

TEST(SafetyDecision, ARecordWithoutExtrasSaysNull) {
    const Json record = Json::parse(decision_record(SafetyDecision(Decision::unavailable, "nobody \"there\"")));
    EXPECT_TRUE(record.at("constraints").is_null());
    EXPECT_TRUE(record.at("remediations").is_null());
    EXPECT_EQ(record.at("decision"), "UNAVAILABLE");
    EXPECT_EQ(record.at("reason"), "nobody \"there\"");
}

TEST(SafetyDecision, TheFieldsClearWhatTheLastDecisionLeft) {
    const auto fields_of = [](const SafetyDecision& decision) {
        const auto list = decision_fields(decision);
        return std::map<std::string, std::string>(list.begin(), list.end());
    };
    const auto required = fields_of(decision_from(answer(cap::DECISION_TYPE_REQUIRE_HUMAN)));
    EXPECT_EQ(required.at("safety_decision"), "REQUIRE_APPROVAL");
    EXPECT_EQ(required.at("safety_approval_required"), "true");
    EXPECT_FALSE(required.contains("safety_job_hash"));
    const auto allowed = fields_of(decision_from(answer(cap::DECISION_TYPE_ALLOW)));
    EXPECT_EQ(allowed.at("safety_approval_required"), "");
    EXPECT_EQ(allowed.at("safety_snapshot"), "v1|abc");
    EXPECT_FALSE(allowed.contains("safety_constraints"));
}

// SAFE-09
TEST(Constraints, AreCarriedInTheEnvironmentAndLowerTheDeadline) {
    cap::PolicyConstraints constraints;
    auto& budgets = *constraints.mutable_budgets();
    budgets.set_max_runtime_ms(2000);
    budgets.set_max_artifact_bytes(1024);
    budgets.set_max_concurrent_jobs(3);
    budgets.set_max_retries(2);
    constraints.set_redaction_level("high");
    cap::JobRequest request;
    request.mutable_budget()->set_deadline_ms(5000);
    apply_constraints(constraints, request);
    EXPECT_EQ(request.env().at("CORDUM_MAX_ARTIFACT_BYTES"), "1024");
    EXPECT_EQ(request.env().at("CORDUM_MAX_CONCURRENT_JOBS"), "3");
    EXPECT_EQ(request.env().at("CORDUM_MAX_RETRIES"), "2");
    EXPECT_EQ(request.env().at("CORDUM_REDACTION_LEVEL"), "high");
    EXPECT_EQ(Json::parse(request.env().at("CORDUM_POLICY_CONSTRAINTS")),
              Json::parse(R"({"budgets": {"maxArtifactBytes": "1024", "maxConcurrentJobs": 3, "maxRetries": 2,
                              "maxRuntimeMs": "2000"}, "redactionLevel": "high"})"));
    EXPECT_EQ(request.budget().deadline_ms(), 2000);
}

TEST(Constraints, AShorterDeadlineIsKeptAndAMissingOneSet) {
    cap::PolicyConstraints constraints;
    constraints.mutable_budgets()->set_max_runtime_ms(2000);
    cap::JobRequest tighter;
    tighter.mutable_budget()->set_deadline_ms(500);
    apply_constraints(constraints, tighter);
    EXPECT_EQ(tighter.budget().deadline_ms(), 500);
    cap::JobRequest none;
    apply_constraints(constraints, none);
    EXPECT_EQ(none.budget().deadline_ms(), 2000);
}

TEST(Constraints, NoLimitsMeanNoCaps) {
    cap::JobRequest request;
    apply_constraints(cap::PolicyConstraints{}, request);
    EXPECT_EQ(request.env_size(), 1);
    EXPECT_EQ(request.env().at("CORDUM_POLICY_CONSTRAINTS"), "{}");
    EXPECT_FALSE(request.has_budget());
}

}  // namespace
}  // namespace lockstep::engine
