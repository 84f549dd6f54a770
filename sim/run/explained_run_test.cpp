#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

/// Of a scenario that proves a mechanism, the run without it.
RunResult without(const std::string& mechanism) {
    const auto path = std::filesystem::path(LOCKSTEP_SCENARIOS) / "mechanisms" / (mechanism + ".json");
    const auto scenario = load_scenario(path, {.overrides = {}, .without = {mechanism}});
    EXPECT_TRUE(scenario);
    return run_scenario(*scenario, scenario->seed, {});
}

TEST(ExplainedRun, TheTwoFactsOfATheftAreTheCommitAndTheLockOfAnother) {
    const RunResult result = without("lock_fencing");
    ASSERT_FALSE(result.violations.empty());
    const Violation& violation = result.violations.front();
    EXPECT_THAT(violation.fact.what, HasSubstr("state PENDING -> SCHEDULED"));
    ASSERT_TRUE(violation.earlier);
    EXPECT_THAT(violation.earlier->what, HasSubstr("lock_acquired"));
    EXPECT_NE(violation.earlier->node, violation.fact.node);
    EXPECT_LT(violation.earlier->event, violation.fact.event);
    EXPECT_THAT(violation.circumstances, Contains(HasSubstr("lock cordum:scheduler:job:")));
    EXPECT_THAT(violation.circumstances, Contains(HasSubstr("held by " + violation.earlier->node)));
    EXPECT_THAT(violation.story, Contains(AllOf(HasSubstr("commit"), HasSubstr("took effect"))));
}

TEST(ExplainedRun, WhatIsFoundAtTheEndPointsToWhereItBegan) {
    const RunResult result = without("reconciler");
    ASSERT_FALSE(result.violations.empty());
    const Violation& violation = result.violations.front();
    EXPECT_TRUE(violation.at_rest);
    ASSERT_TRUE(violation.earlier);
    EXPECT_THAT(violation.earlier->what, HasSubstr("submit answered"));
    EXPECT_EQ(violation.earlier->node, "gateway");
}

TEST(ExplainedRun, AJobThatIsLeftForEverNamesTheSweepsThatPassedItBy) {
    const RunResult result = without("reconciler");
    ASSERT_FALSE(result.violations.empty());
    EXPECT_THAT(result.violations.front().circumstances,
                Contains(HasSubstr("nobody swept job:index:running since it became RUNNING")));
}

TEST(ExplainedRun, IsLeftOutWhereOnlyTheVerdictCounts) {
    const auto path = std::filesystem::path(LOCKSTEP_SCENARIOS) / "mechanisms" / "lock_fencing.json";
    const auto scenario = load_scenario(path, {.overrides = {}, .without = {"lock_fencing"}});
    ASSERT_TRUE(scenario);
    RunOptions options;
    options.explain = false;
    const RunResult judged = run_scenario(*scenario, scenario->seed, options);
    const RunResult told = run_scenario(*scenario, scenario->seed, {});
    ASSERT_FALSE(judged.violations.empty());
    EXPECT_TRUE(judged.violations.front().story.empty());
    EXPECT_FALSE(told.violations.front().story.empty());
    EXPECT_EQ(judged.violations.front().detail, told.violations.front().detail);
    EXPECT_EQ(judged.digest, told.digest);
}

TEST(ExplainedRun, EachOfTheseMechanismsIsExplainedByTwoFacts) {
    for (const char* mechanism :
         {"publish_message_id", "processed_guard", "tenant_limit_atomicity", "circuit_breaker", "tick_lock_hold"}) {
        const RunResult result = without(mechanism);
        ASSERT_FALSE(result.violations.empty()) << mechanism;
        const Violation& violation = result.violations.front();
        ASSERT_TRUE(violation.earlier) << mechanism;
        EXPECT_FALSE(violation.earlier->what.empty()) << mechanism;
        EXPECT_LT(violation.earlier->event, violation.fact.event) << mechanism;
        EXPECT_LE(violation.earlier->at_ns, violation.fact.at_ns) << mechanism;
    }
}

TEST(ExplainedRun, ARunThatHoldsIsRecordedOnlyWhenAskedFor) {
    const auto scenario = load_scenario(std::filesystem::path(LOCKSTEP_SCENARIOS) / "happy-path.json");
    ASSERT_TRUE(scenario);
    const RunResult plain = run_scenario(*scenario, 1, {});
    EXPECT_EQ(plain.history, nullptr);
    const RunResult recorded = run_scenario(*scenario, 1, {.history = true});
    ASSERT_NE(recorded.history, nullptr);
    EXPECT_EQ(recorded.digest, plain.digest) << "to be watched changes nothing";
    EXPECT_EQ(recorded.history->events.size(), recorded.events) << "the numbers of events are those of the digest";
}

}  // namespace
}  // namespace lockstep::sim
