#include "fakes/policy/parse.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fakes/policy/test_policy.h"

namespace lockstep::fakes::policy {
namespace {

/// The mistakes of a document, `<path>: <message>` each.
std::vector<std::string> mistakes(std::string_view text) {
    std::vector<std::string> lines;
    const auto document = parse_document(nlohmann::json::parse(text));
    if (document) return lines;
    for (const auto& [path, message] : document.error()) lines.push_back(path + ": " + message);
    return lines;
}

using Lines = std::vector<std::string>;

TEST(PolicyDocument, DefaultsToDenyAndToNoRules) {
    const Document document = document_of("{}");
    EXPECT_FALSE(document.allow_by_default);
    EXPECT_TRUE(document.rules.empty());
    EXPECT_FALSE(document.input_active());
    EXPECT_FALSE(document.output_active());
}

TEST(PolicyDocument, ReadsEverythingThatARuleCanSay) {
    const Document document = document_of(R"({
      "version": 2, "default_decision": "allow", "default_tenant": "acme",
      "rules": [{"id": "r", "reason": "why", "decision": "require-approval",
        "match": {"tenants": ["a"], "topics": ["job.*"], "capabilities": ["c"], "pack_ids": ["p"], "actor_ids": ["me"],
                  "actor_types": ["human"], "risk_tags": ["x"], "requires": ["k"], "labels": {"n": 1, "b": true},
                  "secrets_present": true, "mcp": {"allow_tools": ["t"], "deny_servers": ["s"]}},
        "velocity": {"max_requests": 3, "window_seconds": 60, "key": "tenant:labels.session"},
        "constraints": {"budgets": {"max_runtime_ms": 2000, "max_retries": 2}, "sandbox": {"isolated": true},
                        "toolchain": {"allowed_tools": ["git"]}, "diff": {"max_files": 5}, "redaction_level": "high"},
        "remediations": [{"id": "fix", "add_labels": {"k": "v"}, "remove_labels": ["z"]}]}],
      "input_policy": {"enabled": true, "fail_mode": "closed", "max_scan_bytes": 10},
      "tenants": {"acme": {"allow_topics": ["job.a"], "mcp": {"deny_actions": ["write"]}}}})");
    EXPECT_EQ(document.version, "2");
    EXPECT_TRUE(document.allow_by_default);
    ASSERT_EQ(document.rules.size(), 1u);
    const Rule& rule = document.rules[0];
    EXPECT_EQ(rule.decision, Decision::require_approval);
    EXPECT_EQ(rule.match.labels.at("n"), "1");
    EXPECT_EQ(rule.match.labels.at("b"), "true");
    EXPECT_EQ(rule.velocity->key, (Lines{"tenant", "labels.session"}));
    EXPECT_EQ(rule.velocity->window, std::chrono::seconds{60});
    EXPECT_EQ(rule.constraints.budgets().max_runtime_ms(), 2000);
    EXPECT_EQ(rule.constraints.toolchain().allowed_tools(0), "git");
    EXPECT_EQ(rule.constraints.redaction_level(), "high");
    EXPECT_EQ(rule.remediations[0].add_labels().at("k"), "v");
    EXPECT_EQ(document.input_policy.max_scan_bytes, 10);
    EXPECT_EQ(document.tenants.at("acme").mcp.actions.deny, Lines{"write"});
}

TEST(PolicyDocument, KnowsAllSpellingsOfDecisions) {
    EXPECT_EQ(decision_named("permit"), Decision::allow);
    EXPECT_EQ(decision_named("Block"), Decision::deny);
    EXPECT_EQ(decision_named("require_human"), Decision::require_approval);
    EXPECT_EQ(decision_named("require-approval"), Decision::require_approval);
    EXPECT_EQ(decision_named("allow-with-constraints"), Decision::allow_with_constraints);
    EXPECT_EQ(decision_named(" throttle "), Decision::throttle);
    EXPECT_EQ(decision_named("maybe"), std::nullopt);
    EXPECT_EQ(output_verdict_named("deny"), OutputVerdict::quarantine);
}

TEST(PolicyDocument, AnUnknownDecisionOfARuleDenies) {
    EXPECT_EQ(document_of(R"({"rules": [{"decision": "maybe"}]})").rules[0].decision, Decision::deny);
}

TEST(PolicyDocument, AnUnknownKeyIsAMistakeWithItsPlace) {
    EXPECT_EQ(mistakes(R"({"rules": [{"match": {"topic": ["job.a"]}}]})"),
              Lines{"/rules/0/match/topic: unknown key; known here: actor_ids, actor_types, capabilities, labels, mcp, "
                    "pack_ids, requires, risk_tags, secrets_present, tenants, topics"});
    EXPECT_EQ(mistakes(R"({"tenants": {"a/b": {"x": 1}}})").at(0).substr(0, 32), "/tenants/a~1b/x: unknown key; kn");
}

TEST(PolicyDocument, ReportsAllMistakesAtOnce) {
    EXPECT_EQ(mistakes(R"({"default_decision": "perhaps", "rules": {}, "output_rules": [{"severity": "huge"}]})"),
              (Lines{"/default_decision: \"perhaps\" is none of allow, deny", "/rules: must be a list",
                     "/output_rules/0/severity: \"huge\" is none of low, medium, high, critical"}));
    EXPECT_EQ(mistakes("[]"), Lines{": must be an object"});
}

TEST(PolicyDocument, ChecksTheLimitsOfVelocity) {
    EXPECT_EQ(mistakes(R"({"rules": [{"velocity": {"max_requests": 0, "window_seconds": 90000, "key": "colour"}}]})"),
              (Lines{"/rules/0/velocity/max_requests: 0 is not within 1 and 9223372036854775807",
                     "/rules/0/velocity/window_seconds: 90000 is not within 1 and 86400",
                     "/rules/0/velocity/key: \"colour\" names nothing to count by"}));
    EXPECT_EQ(mistakes(R"({"rules": [{"velocity": {}}]})").size(), 3u);
}

TEST(PolicyDocument, ChecksContentRules) {
    EXPECT_EQ(mistakes(R"({"input_rules": [{"decision": "allow", "match": {"scanners": ["nose"], "scope": {},
                            "content_patterns": ["(a+)+"]}}]})"),
              (Lines{"/input_rules/0/match/scanners: \"nose\" is none of secret, pii, injection",
                     "/input_rules/0/match/content_patterns: \"(a+)+\": a quantifier inside a quantifier (at 5)",
                     "/input_rules/0/match/scope: this kernel does not evaluate scopes",
                     "/input_rules/0/decision: \"allow\" is none of deny, require_approval"}));
    EXPECT_EQ(mistakes(R"({"input_rules": [{"match": {"has_error": true}}]})").size(), 1u);
}

TEST(PolicyDocument, TheLargerOfTwoSizesWins) {
    const Document document = document_of(R"({"input_rules": [
        {"match": {"input_size_gt": 5, "max_input_bytes": 9}}, {"match": {}}]})");
    EXPECT_EQ(document.input_rules[0].match.larger_than, 9);
    EXPECT_FALSE(document.input_rules[1].match.larger_than.has_value());
}

TEST(PolicyDocument, OutputRulesGoOffOnlyWithAnExplicitFailMode) {
    EXPECT_TRUE(document_of(R"({"output_rules": [{}]})").output_active());
    EXPECT_TRUE(document_of(R"({"output_rules": [{}], "output_policy": {"enabled": false}})").output_active());
    EXPECT_FALSE(document_of(R"({"output_rules": [{}], "output_policy": {"enabled": false, "fail_mode": "open"}})")
                     .output_active());
}

TEST(PolicyDocument, ASeparateOutputPolicyTakesThePlaceOfItsOwn) {
    const auto tree = nlohmann::json::parse(R"({"enabled": true, "rules": [{"id": "new"}]})");
    const auto document = with_output_policy(document_of(R"({"output_rules": [{"id": "old"}]})"), tree);
    ASSERT_TRUE(document.has_value());
    ASSERT_EQ(document->output_rules.size(), 1u);
    EXPECT_EQ(document->output_rules[0].id, "new");

    const auto off = with_output_policy({}, nlohmann::json::parse(R"({"enabled": false, "rules": [{}]})"));
    EXPECT_FALSE(off->output_active());
    EXPECT_FALSE(with_output_policy({}, nlohmann::json::parse(R"({"rulez": []})")).has_value());
}

TEST(PolicyDocument, TheSnapshotNamesTextAndVersion) {
    EXPECT_EQ(snapshot_id({}, "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    Document document;
    document.version = "v1";
    EXPECT_TRUE(snapshot_id(document, "abc").starts_with("v1:ba7816"));
}

}  // namespace
}  // namespace lockstep::fakes::policy
