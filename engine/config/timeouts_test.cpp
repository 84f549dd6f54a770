#include "engine/config/timeouts.h"

#include <gtest/gtest.h>

#include <array>

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

Timeouts parsed(std::string_view text) {
    auto timeouts = parse_timeouts(text);
    EXPECT_TRUE(timeouts) << text << ": " << timeouts.error().front().pointer << ' '
                          << timeouts.error().front().message;
    return timeouts ? std::move(*timeouts) : Timeouts{};
}

// RECON-05, D-10
TEST(Timeouts, WhereTheReconcilersLimitsSayNothingOrZeroTheBuiltInOnesHold) {
    const auto limits = [](std::string_view text) {
        const ReconcilerTimeouts all = with_fallbacks(parsed(text).reconciler);
        return std::array<Duration, 3>{all.dispatch, all.running, all.scan_interval};
    };
    using Limits = std::array<Duration, 3>;
    EXPECT_EQ(limits("null"), (Limits{5min, 15min, 30s}));
    EXPECT_EQ(limits("{}"), (Limits{5min, 15min, 30s}));
    EXPECT_EQ(limits(R"({"topics": {}, "reconciler": {}})"), (Limits{5min, 15min, 30s}));
    EXPECT_EQ(
        limits(
            R"({"reconciler": {"dispatch_timeout_seconds": 0, "running_timeout_seconds": 0, "scan_interval_seconds": 0}})"),
        (Limits{5min, 15min, 30s}));
    EXPECT_EQ(limits(R"({"reconciler": {"running_timeout_seconds": 60}})"), (Limits{5min, 1min, 30s}));
    EXPECT_EQ(
        limits(
            R"({"reconciler": {"dispatch_timeout_seconds": 10, "running_timeout_seconds": 20, "scan_interval_seconds": 5}})"),
        (Limits{10s, 20s, 5s}));
}

TEST(Timeouts, ABlockThatIsNotThereLeavesTheTunablesAlone) {
    Tunables tunables;
    tunables.dispatch_timeout = 7s;
    apply_limits(parsed(R"({"topics": {"job.a": {"timeout_seconds": 1}}})"), {}, tunables);
    EXPECT_EQ(tunables.dispatch_timeout, 7s);
    apply_limits(parsed(R"({"reconciler": {"running_timeout_seconds": 60}})"), {}, tunables);
    EXPECT_EQ(tunables.dispatch_timeout, 300s);
    EXPECT_EQ(tunables.running_timeout, 60s);
    apply_limits(parsed(R"({"reconciler": {"scan_interval_seconds": 11}})"), {}, tunables);
    EXPECT_EQ(tunables.reconciler_interval, 11s);
    EXPECT_EQ(tunables.replayer_interval, 11s) << "the tick of both";
}

// C-24
TEST(Timeouts, BothStylesOfNamesMeanTheSame) {
    const Timeouts timeouts = parsed(R"({
        "topics": {"job.a": {"timeout_seconds": 60, "max_retries": 2}, "job.b": {"dispatch_timeout": "1m30s", "execution_timeout": "2h"}},
        "workflows": {"v": {"child_timeout_seconds": 10, "total_timeout_seconds": 5, "max_retries": 1},
                      "w": {"step_timeout": "10s", "run_timeout": "1h"}}})");
    EXPECT_EQ(timeouts.topics.at("job.a"), (TopicTimeouts{0s, 60s, 2}));
    EXPECT_EQ(timeouts.topics.at("job.b"), (TopicTimeouts{90s, 2h, 0}));
    EXPECT_EQ(timeouts.workflows.at("v"), (WorkflowTimeouts{10s, 5s, 1}));
    EXPECT_EQ(timeouts.workflows.at("w"), (WorkflowTimeouts{10s, 1h, 0}));
}

TEST(Timeouts, CapitalisedLegacyNamesAreRead) {
    const Timeouts timeouts = parsed(R"({
        "Topics": {"job.a": {"TimeoutSeconds": 60, "MaxRetries": 2}},
        "Workflows": {"w": {"ChildTimeoutSeconds": 10, "TotalTimeoutSeconds": 5, "MaxRetries": 1}},
        "Reconciler": {"DispatchTimeoutSeconds": 15, "RunningTimeoutSeconds": 25, "ScanIntervalSeconds": 5}})");
    EXPECT_EQ(timeouts.topics.at("job.a"), (TopicTimeouts{0s, 60s, 2}));
    EXPECT_EQ(timeouts.workflows.at("w"), (WorkflowTimeouts{10s, 5s, 1}));
    EXPECT_EQ(timeouts.reconciler, (ReconcilerTimeouts{true, 15s, 25s, 5s}));
}

TEST(Timeouts, EveryMistakeIsReportedWithItsPlace) {
    const auto timeouts = parse_timeouts(R"({"topics": {"a/b": {"timeout_secs": 1, "max_retries": -1}}, "reconcilr": {},
                                             "workflows": {"w": {"run_timeout": "soon"}}})");
    ASSERT_FALSE(timeouts);
    std::vector<std::string> places;
    for (const auto& error : timeouts.error()) places.push_back(error.pointer);
    EXPECT_EQ(places, (std::vector<std::string>{"/reconcilr", "/topics/a~1b/max_retries", "/topics/a~1b/timeout_secs",
                                                "/workflows/w/run_timeout"}));
}

TEST(Timeouts, WhatIsNoTimeoutsDocumentIsRefused) {
    for (const char* text :
         {"", "[]", "7", "\"x\"", "{", R"({"topics": []})", R"({"topics": {"a": 7}})",
          R"({"topics": {"a": {"timeout_seconds": "7"}}})", R"({"topics": {"a": {"timeout_seconds": 1.5}}})",
          R"({"topics": {"a": {"timeout_seconds": 9223372036854775807}}})",
          R"({"topics": {"a": {"timeout_seconds": 18446744073709551615}}})",
          R"({"topics": {"a": {"timeout_seconds": 1e300}}})",
          R"({"topics": {"a": {"execution_timeout": "99999999h"}}})", R"({"topics": {"a": {"execution_timeout": []}}})",
          R"({"reconciler": [1]})", R"({"reconciler": {"dispatch_timeout_seconds": true}})",
          R"({"workflows": {"w": "x"}})"})
        EXPECT_FALSE(parse_timeouts(text)) << text;
}

// C-24: other implementations reject any other name
TEST(Timeouts, TheStoredFormHasOnlyTheNamesThatAllReadersKnow) {
    const Timeouts timeouts = parsed(R"({
        "topics": {"job.a": {"execution_timeout": "1500ms", "dispatch_timeout": "1s", "max_retries": 2}, "job.b": {"dispatch_timeout": "1s"}},
        "workflows": {"w": {"step_timeout": "10s", "run_timeout": "1h"}},
        "reconciler": {"running_timeout_seconds": 60}})");
    EXPECT_EQ(
        stored_form(timeouts),
        R"({"reconciler":{"dispatch_timeout_seconds":0,"running_timeout_seconds":60,"scan_interval_seconds":0},)"
        R"("topics":{"job.a":{"max_retries":2,"timeout_seconds":2},"job.b":{"max_retries":0,"timeout_seconds":0}},)"
        R"("workflows":{"w":{"child_timeout_seconds":10,"max_retries":0,"total_timeout_seconds":3600}}})");
}

// D-12
TEST(Timeouts, TheStoredFormNamesTopicsAndWorkflowsEvenWithoutAny) {
    EXPECT_EQ(stored_form(Timeouts{}), R"({"topics":{},"workflows":{}})");
    EXPECT_EQ(stored_form(parsed(R"({"reconciler": {"running_timeout_seconds": 0}})")),
              R"({"topics":{},"workflows":{}})");
}

}  // namespace
}  // namespace lockstep::engine
