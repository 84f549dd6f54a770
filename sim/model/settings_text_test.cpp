#include "sim/model/settings_text.h"

#include <gmock/gmock.h>

#include "sim/model/heartbeat_bounds.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

TEST(SettingsText, LimitsAreReadUnderAllTheirNames) {
    const auto limits = read_time_limits(R"({
        "topics": {"a": {"timeout_seconds": 3, "dispatch_timeout": "1500ms", "max_retries": 2}},
        "Workflows": {"w": {"ChildTimeoutSeconds": 4, "run_timeout": "1m"}},
        "reconciler": {"running_timeout_seconds": 60}})");
    ASSERT_TRUE(limits);
    EXPECT_EQ(limits->topics.at("a").running, 3s);
    EXPECT_EQ(limits->topics.at("a").dispatch, 1500ms);
    EXPECT_EQ(limits->topics.at("a").max_retries, 2);
    EXPECT_EQ(limits->workflows.at("w").child, 4s);
    EXPECT_EQ(limits->workflows.at("w").total, 1min);
    const auto meant = limits->reconciler.meant();
    EXPECT_EQ(meant.dispatch, 300s);
    EXPECT_EQ(meant.running, 60s);
}

TEST(SettingsText, OneThatIsWrongSpoilsItsPart) {
    EXPECT_FALSE(read_time_limits(R"({"topics": {"a": {"timeout_seconds": -1}}})"));
    EXPECT_FALSE(read_time_limits(R"({"topics": {"a": {"nonsense": 1}}})"));
    const char* document = R"({"data": {"timeouts": {"topics": 7}, "scheduler": {"input_fail_mode": "open"}}})";
    ASSERT_TRUE(read_settings_text(document));
    EXPECT_FALSE(read_settings_text(document)->limits);
    EXPECT_EQ(read_settings_text(document)->opens_input_policy, true);
    EXPECT_FALSE(read_settings_text("[]"));
}

TEST(SettingsText, ModesStandUnderFlatNamesAsWell) {
    const auto settings =
        read_settings_text(R"({"data": {"scheduler.input_fail_mode": "ajar", "scheduler.output_fail_mode": "ajar"}})");
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->opens_input_policy, false);
    EXPECT_FALSE(settings->opens_output_policy);
    EXPECT_TRUE(settings->says_output_mode);
}

TEST(SettingsText, WhatAPoolOffersHasNoCase) {
    const auto settings = read_settings_text(
        R"({"data": {"pools": {"topics": {"t": "p"}, "pools": {"p": {"requires": [" GPU "], "status": "draining"}}}}})");
    ASSERT_TRUE(settings && settings->pools);
    EXPECT_THAT(settings->pools->topics.at("t"), ElementsAre("p"));
    EXPECT_THAT(settings->pools->pools.at("p").offers, ElementsAre("gpu"));
    EXPECT_FALSE(settings->pools->pools.at("p").is_active);
}

TEST(HeartbeatSoundness, ANameIsOneToken) {
    EXPECT_TRUE(is_worker_id("w-0_é"));
    for (const char* name : {"", "a.b", "*", "a>b", "a b", "a\n"}) EXPECT_FALSE(is_worker_id(name)) << name;
}

}  // namespace
}  // namespace lockstep::sim
