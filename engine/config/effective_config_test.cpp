#include "engine/config/effective_config.h"

#include <gtest/gtest.h>

#include "engine/config/tightening.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using Texts = std::vector<std::string>;

TEST(EffectiveConfig, TheDocumentsOfAJobAreItsScopesFromWideToNarrow) {
    cap::JobRequest request;
    EXPECT_EQ(config_documents_of(request), (Texts{"cfg:system:default", "cfg:org:default"}));
    request.set_tenant_id("acme");
    request.set_workflow_id("wf");
    (*request.mutable_env())["team_id"] = "t";
    (*request.mutable_env())["step_id"] = "s";
    EXPECT_EQ(config_documents_of(request),
              (Texts{"cfg:system:default", "cfg:org:acme", "cfg:team:t", "cfg:workflow:wf", "cfg:step:s"}));
}

/// The keys of a job that names everything.
const Texts kKeys{"cfg:system:default", "cfg:org:acme", "cfg:team:t", "cfg:workflow:wf", "cfg:step:s"};

class EffectiveConfigTest : public ::testing::Test {
protected:
    std::string merge(Texts documents) { return config.merge(kKeys, std::move(documents)).json.value_or("nothing"); }
    /// The `safety` that system and tenant, and then team, workflow and step make of it.
    std::string safety(const std::string& above, const std::string& team, const std::string& step = "{}") {
        const auto document = [](const std::string& text) { return R"({"data": {"safety": )" + text + "}}"; };
        return merge({document(above), "", document(team), "", document(step)});
    }
    EffectiveConfig config;
};

// C-51
TEST_F(EffectiveConfigTest, ObjectsMergeAtEveryDepthAndOfTheRestTheNarrowerWins) {
    const auto merged = merge({R"({"data": {"a": {"x": {"p": 1, "q": 2}, "y": [1, 2]}, "b": 1}})", "",
                               R"({"data": {"a": {"x": {"q": 3}, "y": [4]}, "c": null}})"});
    EXPECT_EQ(merged, R"({"a":{"x":{"p":1,"q":3},"y":[4]},"b":1,"c":null})");
}

TEST_F(EffectiveConfigTest, WithoutSettingsThereIsNothingToAttach) {
    EXPECT_EQ(merge({}), "");
    EXPECT_EQ(merge({"", ""}), "");
    EXPECT_EQ(merge({R"({"data": {}, "revision": 3})", R"({"revision": 1})", R"({"data": null})"}), "");
}

TEST_F(EffectiveConfigTest, AChangedDocumentCountsAtOnce) {
    EXPECT_EQ(merge({R"({"data": {"a": 1}})"}), R"({"a":1})");
    EXPECT_EQ(merge({R"({"data": {"a": 2}})"}), R"({"a":2})");
    EXPECT_EQ(merge({R"({"data": {"a": 1}})"}), R"({"a":1})");
}

// D-14
TEST_F(EffectiveConfigTest, ADocumentThatCannotBeReadSpoilsTheWholeWhereNoGoodCopyIsKnown) {
    const std::string deep = R"({"data": {"a": )" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}}";
    for (const std::string& broken :
         {std::string("{broken"), std::string("[]"), std::string(R"({"data": [1]})"), deep}) {
        EffectiveConfig fresh;
        const auto settings = fresh.merge(kKeys, {R"({"data": {"a": 1}})", broken});
        EXPECT_FALSE(settings.json);
        EXPECT_EQ(settings.unreadable, Texts{"cfg:org:acme"});
    }
}

TEST_F(EffectiveConfigTest, TheLastGoodCopyStandsInForADocumentThatCannotBeRead) {
    EXPECT_EQ(merge({R"({"data": {"a": 1}})"}), R"({"a":1})");
    EXPECT_EQ(merge({R"({"data": {"a": 2}})"}), R"({"a":2})");
    EXPECT_EQ(merge({R"({"data": {"a": 1}})"}), R"({"a":1})");
    EXPECT_EQ(merge({"{broken"}), R"({"a":1})") << "the last, not any";
    EXPECT_EQ(merge({""}), "") << "one that was taken away is no broken one";
    EXPECT_EQ(merge({"{broken"}), "nothing") << "and what it said counts no more";
}

TEST_F(EffectiveConfigTest, ABrokenDocumentIsToldOfOncePerText) {
    EXPECT_EQ(config.merge(kKeys, {"{broken"}).untold, Texts{"cfg:system:default"});
    EXPECT_EQ(config.merge(kKeys, {"{broken"}).untold, Texts{});
    EXPECT_EQ(config.merge(kKeys, {"{broken"}).unreadable, Texts{"cfg:system:default"});
    EXPECT_EQ(config.merge(kKeys, {"{in another way"}).untold, Texts{"cfg:system:default"});
}

// D-14
TEST_F(EffectiveConfigTest, WhatASubmitterChoosesUnitesWhatIsDenied) {
    EXPECT_EQ(
        safety(R"({"denied_topics": ["job.pay"]})", R"({"denied_topics": []})", R"({"denied_topics": ["job.x"]})"),
        R"({"safety":{"denied_topics":["job.pay","job.x"]}})");
    EXPECT_EQ(safety(R"({"mcp": {"deny_servers": ["a"]}})", R"({"mcp": {"deny_servers": ["b", "a"]}})"),
              R"({"safety":{"mcp":{"deny_servers":["a","b"]}}})");
}

TEST_F(EffectiveConfigTest, WhatASubmitterChoosesCutsWhatIsAllowed) {
    EXPECT_EQ(safety(R"({"allowed_topics": ["job.a", "job.b"]})", R"({"allowed_topics": ["job.b", "job.c"]})"),
              R"({"safety":{"allowed_topics":["job.b"]}})");
    EXPECT_EQ(safety(R"({"allowed_topics": ["job.a"]})", R"({"allowed_topics": []})"),
              R"({"safety":{"allowed_topics":["job.a"]}})");
    EXPECT_EQ(safety("{}", R"({"allowed_topics": ["job.a"]})"), R"({"safety":{"allowed_topics":["job.a"]}})");
    EXPECT_EQ(safety(R"({"allowed_topics": ["job.a"]})", R"({"allowed_topics": ["job.b"]})"),
              R"~({"safety":{"allowed_topics":["(nothing)"]}})~")
        << "an empty list would allow everything";
    EXPECT_EQ(safety(R"({"allowed_topics": ["job.a"]})", R"({"allowed_topics": ["job.b"]})",
                     R"({"allowed_topics": ["job.b", "job.a"]})"),
              R"~({"safety":{"allowed_topics":["(nothing)"]}})~");
    EXPECT_EQ(safety(R"({"mcp": {"allow_tools": ["Grep"]}})", R"({"mcp": {"allow_tools": [" grep", "rm"]}})"),
              R"({"safety":{"mcp":{"allow_tools":["grep"]}}})");
}

TEST_F(EffectiveConfigTest, OfTwoPatternsOfTopicsTheNarrowerStays) {
    EXPECT_EQ(safety(R"({"allowed_topics": ["job.a.*"]})", R"({"allowed_topics": ["job.a.b", "job.*"]})"),
              R"({"safety":{"allowed_topics":["job.a.b","job.a.*"]}})");
    EXPECT_EQ(safety(R"({"allowed_topics": ["job.a?"]})", R"({"allowed_topics": ["job.ab", "job.a*"]})"),
              R"({"safety":{"allowed_topics":["job.a?"]}})")
        << "what takes one character takes not every literal for certain";
}

TEST_F(EffectiveConfigTest, NothingElseOfSafetyIsTheSubmittersToChoose) {
    const std::string above = R"({"enabled": true, "denied_topics": ["job.pay"], "mcp": {"deny_tools": ["rm"]}})";
    const std::string left = R"({"safety":{"denied_topics":["job.pay"],"enabled":true,"mcp":{"deny_tools":["rm"]}}})";
    for (const char* layer : {R"({"enabled": false})", "null", "[]", R"({"mcp": null})", R"({"mcp": []})",
                              R"({"denied_topics": null})", R"({"denied_topics": {"x": 1}})", R"({"mode": "off"})"})
        EXPECT_EQ(safety(above, layer), left) << layer;
}

TEST_F(EffectiveConfigTest, SafetyMayStandUnderDataAndIsNotHiddenThere) {
    const std::string above = R"({"data": {"data": {"safety": {"denied_topics": ["job.pay"]}, "x": 1}}})";
    EXPECT_EQ(merge({above, "", R"({"data": {"safety": {"denied_topics": ["job.x"]}}})"}),
              R"({"data":{"safety":{"denied_topics":["job.pay","job.x"]},"x":1}})");
    EXPECT_EQ(merge({above, "", R"({"data": {"data": 5}})"}),
              R"({"data":{"safety":{"denied_topics":["job.pay"]},"x":1}})");
    EXPECT_EQ(merge({R"({"data": {"safety": {"denied_topics": ["job.pay"]}}})", "",
                     R"({"data": {"data": {"safety": {"denied_topics": []}, "y": 2}}})"}),
              R"({"data":{"y":2},"safety":{"denied_topics":["job.pay"]}})");
}

TEST_F(EffectiveConfigTest, SystemAndTenantAreNotTheSubmittersChoice) {
    EXPECT_EQ(merge({R"({"data": {"safety": {"denied_topics": ["job.pay"]}}})",
                     R"({"data": {"safety": {"denied_topics": []}}})"}),
              R"({"safety":{"denied_topics":[]}})");
}

TEST(Covers, IsCertainWhenItSaysSo) {
    for (const auto& [wide, narrow] : {std::pair{"job.*", "job.a"},
                                       {"job.*", "job.a.*"},
                                       {"*", "job.a?"},
                                       {"*.b", "a.*.b"},
                                       {"job.a", "job.a"},
                                       {"a*c*e", "abcde"},
                                       {"job.[ab]", "job.[ab]"}})
        EXPECT_TRUE(covers(wide, narrow)) << wide << " " << narrow;
    for (const auto& [wide, narrow] : {std::pair{"job.a", "job.*"},
                                       {"job.?", "job.a"},
                                       {"job.*", "job.a/b"},
                                       {"job.*", "job"},
                                       {"job.a*", "job.?"},
                                       {"*", "a[/]b"},
                                       {"job.*.c", "job.a.b"}})
        EXPECT_FALSE(covers(wide, narrow)) << wide << " " << narrow;
}

}  // namespace
}  // namespace lockstep::engine
