#include "engine/config/effective_config.h"

#include <gtest/gtest.h>

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

// C-51
TEST(EffectiveConfig, ObjectsMergeAtEveryDepthAndOfTheRestTheNarrowerWins) {
    EffectiveConfig config;
    const auto merged = config.merge({R"({"data": {"a": {"x": {"p": 1, "q": 2}, "y": [1, 2]}, "b": 1}})", "",
                                      R"({"data": {"a": {"x": {"q": 3}, "y": [4]}, "c": null}})"});
    EXPECT_EQ(merged, R"({"a":{"x":{"p":1,"q":3},"y":[4]},"b":1,"c":null})");
}

TEST(EffectiveConfig, WithoutSettingsThereIsNothingToAttach) {
    EffectiveConfig config;
    EXPECT_EQ(config.merge({}), "");
    EXPECT_EQ(config.merge({"", ""}), "");
    EXPECT_EQ(config.merge({R"({"data": {}, "revision": 3})", R"({"revision": 1})"}), "");
}

TEST(EffectiveConfig, ADocumentThatCannotBeReadSpoilsTheWhole) {
    EffectiveConfig config;
    EXPECT_FALSE(config.merge({R"({"data": {"a": 1}})", "{broken"}));
    EXPECT_FALSE(config.merge({"[]"}));
}

TEST(EffectiveConfig, AChangedDocumentCountsAtOnce) {
    EffectiveConfig config;
    EXPECT_EQ(config.merge({R"({"data": {"a": 1}})"}), R"({"a":1})");
    EXPECT_EQ(config.merge({R"({"data": {"a": 2}})"}), R"({"a":2})");
    EXPECT_EQ(config.merge({R"({"data": {"a": 1}})"}), R"({"a":1})");
}

TEST(EffectiveConfig, ADocumentNestedWithoutBoundsIsOneThatCannotBeRead) {
    EffectiveConfig config;
    EXPECT_FALSE(
        config.merge({R"({"data": {"a": )" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}}"}));
}

}  // namespace
}  // namespace lockstep::engine
