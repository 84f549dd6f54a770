#include "engine/config/overlay.h"

#include <gtest/gtest.h>

#include "engine/config/fingerprint.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

Overlay read(std::string_view text) {
    auto overlay = read_overlay(text);
    EXPECT_TRUE(overlay) << text << ": " << overlay.error();
    return overlay ? std::move(*overlay) : Overlay{};
}

// CONF-06
TEST(Overlay, PoolsAndTimeoutsAreReadEachWithItsFingerprint) {
    const Overlay overlay = read(R"({"revision": 4, "data": {
        "pools": {"topics": {"job.a": ["p"]}, "pools": {"p": {"requires": []}}},
        "timeouts": {"reconciler": {"dispatch_timeout_seconds": 15, "running_timeout_seconds": 25, "scan_interval_seconds": 5}},
        "safety": {"enabled": true}}})");
    EXPECT_EQ(overlay.revision, 4);
    ASSERT_TRUE(overlay.pools);
    EXPECT_EQ(overlay.pools->topics.at("job.a"), Texts{"p"});
    EXPECT_EQ(overlay.pools_fingerprint,
              fingerprint_of_text(R"({"pools": {"p": {"requires": []}}, "topics": {"job.a": ["p"]}})"));
    ASSERT_TRUE(overlay.timeouts);
    EXPECT_EQ(overlay.timeouts->reconciler, (ReconcilerTimeouts{true, 15s, 25s, 5s}));
    EXPECT_EQ(overlay.timeouts_fingerprint.size(), 64U);
    EXPECT_EQ(overlay.mistakes, Texts{});
}

TEST(Overlay, LegacyNamesOfPoolsAreRead) {
    const Overlay overlay =
        read(R"({"data": {"pools": {"Topics": {"job.a": ["p"]}, "Pools": {"p": {"Requires": null, "Status": "draining",
        "Description": "", "DrainStartedAt": "", "DrainTimeoutSeconds": 0}, "q": {"Requires": ["X"], "Status": ""}}}}})");
    ASSERT_TRUE(overlay.pools) << overlay.mistakes.front();
    EXPECT_EQ(overlay.pools->pools.at("p").status, PoolStatus::draining);
    EXPECT_EQ(overlay.pools->pools.at("q").requires_, Texts{"x"});
}

TEST(Overlay, APartThatCannotBeReadLeavesTheOthersAlone) {
    const Overlay overlay =
        read(R"({"data": {"pools": {"topics": {}}, "timeouts": {"reconciler": {"dispatch_timeout_seconds": 9}},
        "scheduler": {"input_fail_mode": "open", "output_fail_mode": 7, "output_policy_enabled": "yes"}}})");
    EXPECT_FALSE(overlay.pools);
    EXPECT_TRUE(overlay.timeouts);
    EXPECT_EQ(overlay.input_fail_mode, "open");
    EXPECT_FALSE(overlay.output_fail_mode);
    EXPECT_FALSE(overlay.output_policy_enabled);
    EXPECT_EQ(overlay.mistakes.size(), 3U);
    EXPECT_EQ(overlay.mistakes.front(), "pools/topics: expected at least one topic");
}

// FAIL-03: what is not exactly `open` does not open
TEST(Overlay, AFailModeOfAnyOtherWordOrTypeIsNoneThatOpens) {
    for (const char* word : {"\"OPEN\"", "\"\"", "\"invalid\"", "7", "true", "{}", "[\"open\"]"}) {
        const Overlay overlay = read(std::string(R"({"data": {"scheduler": {"input_fail_mode": )") + word + "}}}");
        ASSERT_TRUE(overlay.input_fail_mode) << word;
        EXPECT_NE(*overlay.input_fail_mode, "open") << word;
        EXPECT_EQ(overlay.mistakes.size(), 1U) << word;
    }
    EXPECT_EQ(read(R"({"data": {"scheduler.input_fail_mode": "open", "scheduler.output_policy_enabled": false}})")
                  .input_fail_mode,
              "open");
    EXPECT_EQ(read(R"({"data": {"scheduler": {"output_fail_mode": "closed", "output_policy_enabled": true}}})")
                  .output_fail_mode,
              "closed");
}

TEST(Overlay, HostileDocumentsAreRefusedAndDoNoHarm) {
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("\xff"),
          std::string(R"({"data": []})"), std::string(R"({"data": 7})"), std::string(1'000'000, '{'),
          std::string(1'000'000, '[') + std::string(1'000'000, ']'),
          R"({"data": {"pools": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}}"})
        EXPECT_FALSE(read_overlay(text)) << text.substr(0, 30);
    for (const char* text :
         {"{}", R"({"data": null})", R"({"data": {}})", R"({"revision": "x", "data": {"pools": null}})",
          R"({"revision": 1e300, "data": {"scheduler": []}})", R"({"data": {"scheduler": 7}})"}) {
        const Overlay overlay = read(text);
        EXPECT_FALSE(overlay.pools || overlay.timeouts || overlay.input_fail_mode) << text;
    }
    EXPECT_EQ(read(R"({"data": {"pools": 7, "timeouts": "x"}})").mistakes.size(), 2U);
}

}  // namespace
}  // namespace lockstep::engine
