#include "sim/spec/layered_settings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep::sim::spec {
namespace {

using Json = nlohmann::json;

std::shared_ptr<const Json> content(std::string_view text) { return std::make_shared<const Json>(Json::parse(text)); }

TEST(LayeredSettings, AStarTakesInAnythingButASlash) {
    EXPECT_TRUE(takes_in("job.*", "job.book"));
    EXPECT_TRUE(takes_in("job.*", "job.b*"));
    EXPECT_TRUE(takes_in("*b*k", "book"));
    EXPECT_FALSE(takes_in("job.b*", "job.*"));
    EXPECT_FALSE(takes_in("job.*", "job.eu/one"));
    EXPECT_TRUE(takes_in("job.*/*", "job.eu/one"));
}

TEST(LayeredSettings, WhatIsAllowedIsCutAndWhatIsDeniedIsUnited) {
    const auto tenant = content(R"({"safety":{"allowed_topics":["job.*"],"deny_tools":["a"],"mode":"on"},"n":1})");
    const auto step = content(R"({"safety":{"allowed_topics":["job.b"],"deny_tools":["B"],"mode":"off"},"n":2})");
    const auto settings = layered({content("{}"), tenant, step}, 2);
    ASSERT_TRUE(settings);
    EXPECT_TRUE(same_settings(
        *settings, Json::parse(R"({"safety":{"allowed_topics":["job.b"],"deny_tools":["b","A"],"mode":"on"},"n":2})")));
}

TEST(LayeredSettings, ACutThatLeavesNothingAllowsNothing) {
    const auto tenant = content(R"({"safety":{"allowed_topics":["job.a*"]}})");
    const auto step = content(R"({"safety":{"allowed_topics":["job.*b"]}})");
    const auto settings = layered({content("{}"), tenant, step}, 2);
    ASSERT_TRUE(settings);
    EXPECT_TRUE(same_settings(*settings, Json::parse(R"json({"safety":{"allowed_topics":["(nothing)"]}})json")));
    EXPECT_FALSE(same_settings(*settings, Json::object()));
}

}  // namespace
}  // namespace lockstep::sim::spec
