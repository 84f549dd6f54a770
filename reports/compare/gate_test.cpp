#include "reports/compare/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/compare/comparison_junit.h"
#include "reports/compare/test_comparison.h"

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;

/// One variant, 40 seeds, one measure; `factor` and the noise of `trial` are what another build brings.
Comparison measured(double factor, std::uint64_t trial) {
    Comparison out;
    out.scenarios = {{"s.json", "s", "1"}};
    out.measures = {{"latency", "ms", Measure::Better::lower, ""}};
    out.variants = {{"default", {}}};
    TestNoise own(trial);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        TestNoise shared(seed);
        out.seeds.push_back(seed);
        const double value = 1000 * factor * std::exp(0.3 * shared.normal() + 0.03 * own.normal());
        out.runs.push_back({0, 0, seed, seed, true, "", {value}});
    }
    return out;
}

GateOutcome judged(const Comparison& baseline, const Comparison& now, double threshold) {
    return gate(baseline, now, {{}, threshold}).outcome;
}

TEST(Gate, AgainstItselfNothingIsWorse) {
    const Comparison comparison = small_comparison();
    const GateResult result = gate(comparison, comparison, {{}, 0});
    EXPECT_EQ(result.exit_code(), 0) << gate_text(result);
    EXPECT_EQ(result.lines.size(), 2U * 7U) << "six judged measures and the failed runs, per variant";
}

TEST(Gate, ARareBranchThatOneAloneHasReachedIsNoDifference) {
    Comparison reached = measured(1, 1);
    reached.measures.push_back({"times_reached.worker_full", "count", Measure::Better::neither, ""});
    for (ComparedRun& run : reached.runs) run.values.push_back(1);
    EXPECT_EQ(judged(measured(1, 1), reached, 0.05), GateOutcome::held);
    EXPECT_EQ(judged(reached, measured(1, 1), 0.05), GateOutcome::held);
    reached.measures.back().name = "another";
    EXPECT_EQ(judged(reached, measured(1, 1), 0.05), GateOutcome::unlike);
}

TEST(Gate, NoiseFailsItInNoneOfAHundredTrials) {
    for (std::uint64_t trial = 1; trial <= 100; ++trial)
        EXPECT_EQ(judged(measured(1, 2 * trial), measured(1, 2 * trial + 1), 0.05), GateOutcome::held) << trial;
}

TEST(Gate, NoiseAloneIsCalledWorseThanNothingInAtMostFiveOfAHundredTrials) {
    int worse = 0;
    for (std::uint64_t trial = 1; trial <= 100; ++trial)
        worse += judged(measured(1, 2 * trial), measured(1, 2 * trial + 1), 0) == GateOutcome::worse ? 1 : 0;
    EXPECT_LE(worse, 5);
}

TEST(Gate, APlantedSlowdownOfFivePercentIsFound) {
    int found = 0;
    for (std::uint64_t trial = 1; trial <= 100; ++trial)
        found += judged(measured(1, 2 * trial), measured(1.05, 2 * trial + 1), 0.02) == GateOutcome::worse ? 1 : 0;
    EXPECT_GE(found, 95);
}

TEST(Gate, WhatLiesAroundTheThresholdIsNotSettled) {
    int straddles = 0;
    for (std::uint64_t trial = 1; trial <= 100; ++trial)
        straddles +=
            judged(measured(1, 2 * trial), measured(1.05, 2 * trial + 1), 0.05) == GateOutcome::straddles ? 1 : 0;
    EXPECT_GE(straddles, 80);
}

TEST(Gate, AnImprovementHolds) { EXPECT_EQ(judged(measured(1, 1), measured(0.8, 2), 0.05), GateOutcome::held); }

TEST(Gate, AThresholdOfItsOwnCounts) {
    const GateResult strict = gate(measured(1, 1), measured(1.1, 2), {{{"latency", 0.02}}, 0.5});
    EXPECT_EQ(strict.exit_code(), 1);
    EXPECT_THAT(gate_text(strict), HasSubstr("worse: latency of \"default\": 1"));
    EXPECT_THAT(gate_text(strict), HasSubstr("that is worse than the 2 % allowed.\n1 held, 1 worse, 0 not settled\n"));
    EXPECT_THAT(gate_junit(strict), HasSubstr("<failure type=\"worse\""));
}

TEST(Gate, FewSeedsSettleNothing) {
    Comparison baseline = measured(1, 1);
    Comparison now = measured(2, 2);
    for (Comparison* one : {&baseline, &now}) {
        one->seeds.resize(4);
        one->runs.resize(4);
    }
    const GateResult result = gate(baseline, now, {{}, 0.05});
    EXPECT_EQ(result.exit_code(), 4);
    EXPECT_THAT(gate_text(result), HasSubstr("4 seeds are too few to tell"));
}

TEST(Gate, ARunThatFailsNowIsWorse) {
    Comparison now = measured(1, 1);
    now.runs[3].passed = false;
    now.runs[3].problem = "a job was lost";
    const GateResult result = gate(measured(1, 1), now, {{}, 0.05});
    EXPECT_EQ(result.exit_code(), 1);
    EXPECT_THAT(gate_text(result), HasSubstr("s with seed 4: a job was lost"));
    EXPECT_EQ(gate(now, now, {{}, 0.05}).exit_code(), 0) << "it failed before";
}

TEST(Gate, AMeasureThatVanishesIsNotShownToHold) {
    Comparison now = measured(1, 1);
    for (std::size_t i = 0; i < 10; ++i) now.runs[i].values[0] = kNone;
    EXPECT_EQ(judged(measured(1, 1), now, 0.05), GateOutcome::straddles);
    for (ComparedRun& run : now.runs) run.values[0] = kNone;
    EXPECT_EQ(judged(measured(1, 1), now, 0.05), GateOutcome::straddles);
    EXPECT_EQ(judged(now, now, 0.05), GateOutcome::held) << "nothing of the kind, then as now";
}

TEST(Gate, WhatTheBaselineDoesNotHaveIsWorseThanNothing) {
    Comparison baseline = measured(1, 1);
    for (ComparedRun& run : baseline.runs) run.values[0] = 0;
    EXPECT_EQ(judged(baseline, measured(1, 1), 0.05), GateOutcome::worse);
    EXPECT_EQ(judged(measured(1, 1), baseline, 0.05), GateOutcome::held);
}

TEST(Gate, WhatIsUnlikeIsNotCompared) {
    const auto problem_with = [](auto change) {
        Comparison now = small_comparison();
        change(now);
        const GateResult result = gate(small_comparison(), now, {{}, 0.05});
        EXPECT_EQ(result.exit_code(), 2);
        EXPECT_THAT(gate_junit(result), HasSubstr("errors=\"1\""));
        return result.problem;
    };
    EXPECT_THAT(problem_with([](Comparison& c) { c.scenarios[0].hash = "0"; }),
                HasSubstr("the content of \"pool_outage\""));
    EXPECT_THAT(problem_with([](Comparison& c) { c.scenarios[0].name = "other"; }), HasSubstr("only in the baseline"));
    EXPECT_THAT(problem_with([](Comparison& c) { c.seeds.pop_back(); }), HasSubstr("30 seeds in the baseline, 29 now"));
    EXPECT_THAT(problem_with([](Comparison& c) { c.measures[0].unit = "s"; }), HasSubstr("the measures differ"));
    EXPECT_THAT(problem_with([](Comparison& c) { c.measures.pop_back(); }), HasSubstr("the measures differ"));
    EXPECT_THAT(problem_with([](Comparison& c) { c.variants[1].name = "other"; }), HasSubstr("the variants differ"));
    EXPECT_THAT(problem_with([](Comparison& c) { c.runs.pop_back(); }), HasSubstr("was not run"));
    EXPECT_THAT(problem_with([](Comparison& c) { c.complete = false; }), HasSubstr("interrupted"));
}

TEST(Gate, MeasuresAreFoundByNameWhateverTheirPlace) {
    Comparison now = small_comparison();
    std::swap(now.measures[0], now.measures[1]);
    for (ComparedRun& run : now.runs) std::swap(run.values[0], run.values[1]);
    EXPECT_EQ(gate(small_comparison(), now, {{}, 0}).exit_code(), 0);
}

}  // namespace
}  // namespace lockstep::reports
