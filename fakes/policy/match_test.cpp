#include <gtest/gtest.h>

#include <string>

#include "fakes/policy/facts.h"
#include "fakes/policy/test_policy.h"

namespace lockstep::fakes::policy {
namespace {

/// Whether a rule with this match applies to this request.
bool applies(std::string_view match, std::string_view request) {
    const Document document = document_of(R"({"rules": [{"match": )" + std::string(match) + "}]}");
    return matches(document.rules.at(0).match, facts_of(request_of(request), document));
}

TEST(PolicyMatch, AnEmptyMatchTakesEverything) {
    EXPECT_TRUE(applies("{}", R"({"topic": "job.a"})"));
    EXPECT_TRUE(applies(R"({"topics": []})", "{}"));
}

TEST(PolicyMatch, ListsCompareTrimmedAndWithoutCase) {
    EXPECT_TRUE(applies(R"({"tenants": [" ACME "]})", R"({"tenant": "acme"})"));
    EXPECT_FALSE(applies(R"({"tenants": ["acme"]})", R"({"tenant": "other"})"));
    EXPECT_TRUE(applies(R"({"capabilities": ["Deploy"]})", R"({"meta": {"capability": "deploy"}})"));
    EXPECT_TRUE(applies(R"({"pack_ids": ["p"]})", R"({"meta": {"packId": "P"}})"));
}

TEST(PolicyMatch, AnEmptyValueIsInNoList) {
    EXPECT_FALSE(applies(R"({"capabilities": [""]})", "{}"));
    EXPECT_FALSE(applies(R"({"actor_ids": ["", " "]})", "{}"));
}

TEST(PolicyMatch, TheTenantFallsBackStepByStep) {
    EXPECT_TRUE(applies(R"({"tenants": ["default"]})", "{}"));
    EXPECT_TRUE(applies(R"({"tenants": ["meta"]})", R"({"meta": {"tenantId": "meta"}})"));
    EXPECT_TRUE(applies(R"({"tenants": ["top"]})", R"({"tenant": "top", "meta": {"tenantId": "meta"}})"));
    const Document document = document_of(R"({"default_tenant": "house"})");
    EXPECT_EQ(facts_of({}, document).tenant, "house");
}

TEST(PolicyMatch, TheActorIsTheMetadatasElseThePrincipal) {
    EXPECT_TRUE(applies(R"({"actor_ids": ["ann"]})", R"({"principalId": "ann"})"));
    EXPECT_FALSE(applies(R"({"actor_ids": ["ann"]})", R"({"principalId": "ann", "meta": {"actorId": "bot"}})"));
    EXPECT_TRUE(applies(R"({"actor_types": ["human"]})", R"({"meta": {"actorType": "ACTOR_TYPE_HUMAN"}})"));
}

TEST(PolicyMatch, AnyRiskTagButEveryRequirement) {
    const char* request = R"({"meta": {"riskTags": ["a", "b"], "requires": ["x", "y"]}})";
    EXPECT_TRUE(applies(R"({"risk_tags": ["b", "z"]})", request));
    EXPECT_FALSE(applies(R"({"risk_tags": ["z"]})", request));
    EXPECT_TRUE(applies(R"({"requires": ["x"]})", request));
    EXPECT_FALSE(applies(R"({"requires": ["x", "z"]})", request));
}

TEST(PolicyMatch, EveryLabelMustBeEqual) {
    const char* request = R"({"labels": {"a": "1", "b": "2"}})";
    EXPECT_TRUE(applies(R"({"labels": {"a": "1"}})", request));
    EXPECT_FALSE(applies(R"({"labels": {"a": "1", "b": "3"}})", request));
    EXPECT_FALSE(applies(R"({"labels": {"c": ""}})", request));
}

TEST(PolicyMatch, AllCriteriaMustHold) {
    const char* match = R"({"topics": ["job.a*"], "tenants": ["acme"]})";
    EXPECT_TRUE(applies(match, R"({"topic": "job.ab", "tenant": "acme"})"));
    EXPECT_FALSE(applies(match, R"({"topic": "job.b", "tenant": "acme"})"));
}

TEST(PolicyMatch, SecretsAreToldByTheLabelElseByTheRiskTag) {
    const char* match = R"({"secrets_present": true})";
    EXPECT_TRUE(applies(match, R"({"labels": {"secrets_present": "YES"}})"));
    EXPECT_TRUE(applies(match, R"({"meta": {"riskTags": ["secrets"]}})"));
    EXPECT_FALSE(applies(match, R"({"labels": {"secrets_present": "no"}, "meta": {"riskTags": ["secrets"]}})"));
    EXPECT_TRUE(applies(R"({"secrets_present": false})", "{}"));
}

TEST(PolicyMatch, ToolServerListsCountOnlyForSuchCalls) {
    const char* match = R"({"mcp": {"allow_servers": ["git"], "deny_tools": ["push"]}})";
    EXPECT_TRUE(applies(match, "{}"));
    EXPECT_TRUE(applies(match, R"({"labels": {"mcp.server": "git", "mcp.tool": "pull"}})"));
    EXPECT_FALSE(applies(match, R"({"labels": {"mcp_server": "git", "mcpTool": "push"}})"));
    EXPECT_FALSE(applies(match, R"({"labels": {"mcp.server": "mail"}})"));
    EXPECT_FALSE(applies(match, R"({"labels": {"mcp.tool": "pull"}})"));  // names no server, but only one is allowed
}

TEST(PolicyMatch, ADeniedToolServerIsRefusedEvenIfAllowed) {
    EXPECT_FALSE(applies(R"({"mcp": {"allow_servers": ["git"], "deny_servers": ["git"]}})",
                         R"({"labels": {"mcp.server": "git"}})"));
}

}  // namespace
}  // namespace lockstep::fakes::policy
