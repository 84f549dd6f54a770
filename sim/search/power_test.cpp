#include "sim/search/power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/search/power_report.h"

namespace lockstep::sim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A world in which only two mechanisms matter: without `job_lock` every draw divisible by 7 violates lock_exclusion, and
/// without `reconciler` draw 25 alone violates no_lost_job.
RunResult pretended(const Scenario& scenario, std::uint64_t seed, const RunOptions&) {
    const auto off = [&](const char* name) {
        return std::ranges::find(scenario.without, std::string(name)) != scenario.without.end();
    };
    RunResult result;
    result.seed = seed;
    result.digest = seed;
    result.events = 100;
    result.passed = true;
    const auto fail = [&](const char* invariant) {
        result.passed = false;
        result.violations.push_back({invariant, 0, "", "", "it broke", {}});
    };
    if (off("job_lock") && seed % 7 == 0) fail("lock_exclusion");
    if (off("reconciler") && seed == 25) fail("no_lost_job");
    return result;
}

PowerOptions options_for(std::vector<std::string> mechanisms) {
    PowerOptions options;
    options.mechanisms = std::move(mechanisms);
    options.seeds = 20;
    options.repeats = 2;
    options.shrink = false;
    return options;
}

TEST(Power, CountsTheDrawsOfEachSearchInRangesOfTheirOwn) {
    const PowerOutcome outcome = measure_power(pretended, options_for({"job_lock", "reconciler", "warm_start"}));
    ASSERT_EQ(outcome.mechanisms.size(), 3U);
    const MechanismPower& lock = outcome.mechanisms[0];
    EXPECT_EQ(lock.searches[0].draw, 7U);
    EXPECT_EQ(lock.searches[0].draws, 7U);
    EXPECT_EQ(lock.searches[1].draw, 21U);
    EXPECT_EQ(lock.searches[1].draws, 1U) << "the second range begins at draw 21";
    EXPECT_EQ(lock.median_draws(), 4);
    EXPECT_TRUE(lock.always_found());

    const MechanismPower& reconciler = outcome.mechanisms[1];
    EXPECT_FALSE(reconciler.searches[0].found());
    EXPECT_EQ(reconciler.searches[0].draws, 20U) << "a search that finds nothing counts as all its draws";
    EXPECT_EQ(reconciler.searches[1].invariant, "no_lost_job");
    EXPECT_FALSE(reconciler.always_found());
    EXPECT_THAT(outcome.mechanisms[2].noticed, IsEmpty());
}

TEST(Power, CountsTheSameDrawsOnAnyNumberOfThreads) {
    PowerOptions options = options_for({"job_lock"});
    options.threads = 4;
    const PowerOutcome outcome = measure_power(pretended, options);
    EXPECT_EQ(outcome.mechanisms[0].searches[0].draw, 7U);
    EXPECT_EQ(outcome.mechanisms[0].searches[1].draw, 21U);
}

TEST(Power, LooksPastTheFirstFailureForWhatElseNotices) {
    PowerOptions options = options_for({"reconciler"});
    options.repeats = 1;
    options.breadth = 30;
    const PowerOutcome outcome = measure_power(pretended, options);
    EXPECT_FALSE(outcome.mechanisms[0].always_found());
    EXPECT_THAT(outcome.mechanisms[0].noticed, ElementsAre(std::pair("no_lost_job", 1U)));
}

TEST(Power, SaysWhichRulesNoticedNothing) {
    PowerReport report;
    report.options = options_for({"job_lock", "reconciler"});
    report.outcome = measure_power(pretended, report.options);
    report.proved["reconciler"] = {"retry_bounds"};
    const auto idle = rules_that_noticed_nothing(report);
    EXPECT_THAT(idle, Not(Contains("lock_exclusion")));
    EXPECT_THAT(idle, Not(Contains("retry_bounds"))) << "a file that proves a mechanism counts";
    EXPECT_THAT(idle, Contains("saga_exact"));
    const std::string page = power_markdown(report);
    EXPECT_THAT(page, HasSubstr("1 of 2 mechanisms were found"));
    EXPECT_THAT(page, HasSubstr("| `lock_exclusion` | `job_lock` (search) |"));
    EXPECT_THAT(page, HasSubstr("| `retry_bounds` | `reconciler` (file) |"));
    EXPECT_THAT(page, HasSubstr("| `saga_exact` | none of them |"));
}

TEST(Power, ShrinksWhatItFinds) {
    PowerOptions options = options_for({"job_lock"});
    options.shrink = true;
    const PowerOutcome outcome = measure_power(pretended, options);
    const MechanismPower& lock = outcome.mechanisms[0];
    ASSERT_TRUE(lock.shrunk) << lock.shrink_error;
    EXPECT_EQ(lock.shrunk->jobs, 0) << "the pretended world fails without any";
    EXPECT_EQ(lock.shrunk->faults, 0);
    EXPECT_TRUE(lock.shrinks_once);
}

TEST(Median, IsTheMiddleOne) {
    EXPECT_EQ(median({}), 0);
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace lockstep::sim
