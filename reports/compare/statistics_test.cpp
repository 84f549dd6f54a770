#include "reports/compare/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/compare/test_comparison.h"

namespace lockstep::reports {
namespace {

using Kind = Effect::Kind;
using Better = Measure::Better;

/// Latencies of one run: skewed, as latencies are.
double latency(TestNoise& noise) { return 100 * std::exp(0.3 * noise.normal()); }

std::vector<PairedValues> independent_pairs(std::uint64_t trial, std::size_t seeds, double factor) {
    TestNoise noise(trial * 1000 + seeds);
    std::vector<PairedValues> pairs;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const double base = latency(noise);
        pairs.push_back({seed, base, factor * latency(noise)});
    }
    return pairs;
}

int called_different(std::uint64_t trials, std::size_t seeds, double factor) {
    int different = 0;
    for (std::uint64_t trial = 1; trial <= trials; ++trial) {
        const Effect effect = effect_of(independent_pairs(trial, seeds, factor), Better::lower, 0.05);
        different += effect.kind != Kind::noise ? 1 : 0;
    }
    return different;
}

// At 95 % the expected number is five of a hundred; the bound leaves room for the chance of 200 trials.
TEST(Statistics, IndependentNoiseIsCalledDifferentInAboutFiveOfAHundredTrials) {
    for (const std::size_t seeds : {10U, 40U, 100U}) {
        const int different = called_different(200, seeds, 1.0);
        EXPECT_LE(different, 13) << seeds << " seeds";
        EXPECT_GE(different, 3) << seeds << " seeds: the intervals are just wide";
    }
}

TEST(Statistics, TheIntervalHoldsTheTruthAboutAsOftenAsItSays) {
    int held = 0;
    for (std::uint64_t trial = 1; trial <= 200; ++trial)
        held +=
            effect_of(independent_pairs(trial, 40, 1.2), Better::lower, 0.05).relative_interval.contains(0.2) ? 1 : 0;
    EXPECT_GE(held, 200 * 92 / 100);
    EXPECT_LE(held, 200 * 98 / 100);
}

TEST(Statistics, APlantedShiftOfFivePercentIsFoundAmongPairedRuns) {
    int found = 0;
    for (std::uint64_t trial = 1; trial <= 100; ++trial) {
        TestNoise noise(trial);
        std::vector<PairedValues> pairs;
        for (std::uint64_t seed = 1; seed <= 50; ++seed) {
            const double base = latency(noise);
            pairs.push_back({seed, base, base * 1.05 * std::exp(0.05 * noise.normal())});
        }
        const Effect effect = effect_of(pairs, Better::lower, 0.02);
        found += effect.kind == Kind::worse && effect.relative_interval.contains(0.05) ? 1 : 0;
    }
    EXPECT_GE(found, 90);
}

TEST(Statistics, EqualRunsAreTheSameAndNotMerelyClose) {
    const Effect effect = effect_of({{1, 5, 5}, {2, 0, 0}, {3, kNone, kNone}}, Better::lower, 0.05);
    EXPECT_EQ(effect.kind, Kind::same);
    EXPECT_EQ(effect.pairs, 2U);
    EXPECT_EQ(effect.one_sided, 0U);
    EXPECT_EQ(effect.relative_interval.low, 0);
    EXPECT_EQ(effect.relative_interval.high, 0);
}

TEST(Statistics, DifferencesThatCancelOutAreNoiseAndNotTheSame) {
    std::vector<PairedValues> pairs;
    for (std::uint64_t seed = 0; seed < 20; ++seed) pairs.push_back({seed, 100, seed % 2 == 0 ? 90.0 : 110.0});
    const Effect effect = effect_of(pairs, Better::lower, 0.05);
    EXPECT_EQ(effect.kind, Kind::noise);
    EXPECT_EQ(effect.difference, 0);
}

TEST(Statistics, BetterAndWorseFollowTheMeasure) {
    std::vector<PairedValues> pairs;
    for (std::uint64_t seed = 0; seed < 10; ++seed) pairs.push_back({seed, 100, 110 + static_cast<double>(seed)});
    EXPECT_EQ(effect_of(pairs, Better::lower, 0.05).kind, Kind::worse);
    EXPECT_EQ(effect_of(pairs, Better::higher, 0.05).kind, Kind::better);
    EXPECT_EQ(effect_of(pairs, Better::neither, 0.05).kind, Kind::changed);
    const Effect higher = effect_of(pairs, Better::higher, 0.05);
    EXPECT_LT(higher.worsening(), 0);
    EXPECT_LT(higher.worsening_interval().low, higher.worsening_interval().high);
    EXPECT_LT(higher.worsening_interval().high, 0);
}

TEST(Statistics, WhatOnlyOneSideHasIsCountedAndLeftOut) {
    const Effect effect = effect_of({{1, kNone, 5}, {2, 5, kNone}, {3, 1, 1}}, Better::lower, 0.05);
    EXPECT_EQ(effect.one_sided, 2U);
    EXPECT_EQ(effect.pairs, 1U);
    EXPECT_EQ(effect_of({{1, kNone, 5}}, Better::lower, 0.05).kind, Kind::none);
}

TEST(Statistics, FewSeedsTellNothingHoweverMuchTheyAgree) {
    std::vector<PairedValues> pairs;
    for (std::uint64_t seed = 1; seed < kSeedsMin; ++seed) pairs.push_back({seed, 100, 200});
    const Effect few = effect_of(pairs, Better::lower, 0.05);
    EXPECT_EQ(few.kind, Kind::noise);
    EXPECT_FALSE(few.difference_interval.known());
    EXPECT_EQ(few.seeds_to_tell, kSeedsMin);
    // Another scenario of the same seed is not another draw.
    pairs.push_back({1, 100, 200});
    EXPECT_EQ(effect_of(pairs, Better::lower, 0.05).kind, Kind::noise);
    pairs.push_back({kSeedsMin, 100, 200});
    const Effect enough = effect_of(pairs, Better::lower, 0.05);
    EXPECT_EQ(enough.kind, Kind::worse);
    EXPECT_EQ(enough.relative, 1);
}

TEST(Statistics, WithNothingInTheBaseADifferenceIsAbsoluteOnly) {
    std::vector<PairedValues> pairs;
    for (std::uint64_t seed = 0; seed < 10; ++seed) pairs.push_back({seed, 0, 3 + static_cast<double>(seed % 3)});
    const Effect effect = effect_of(pairs, Better::lower, 0.05);
    EXPECT_EQ(effect.kind, Kind::worse);
    EXPECT_TRUE(std::isnan(effect.relative));
    EXPECT_FALSE(effect.relative_interval.known());
}

TEST(Statistics, TheSeedsThatWouldTellDoTell) {
    int told = 0;
    int asked = 0;
    for (std::uint64_t trial = 1; trial <= 40; ++trial) {
        const Effect few = effect_of(independent_pairs(trial, 20, 1.1), Better::lower, 0.02);
        if (few.kind != Kind::noise || few.told != Effect::Told::observed || few.seeds_to_tell > 2000) continue;
        ++asked;
        // That many seeds bring the half width to about the difference that was seen.
        const Effect many = effect_of(independent_pairs(trial, few.seeds_to_tell, 1.1), Better::lower, 0.02);
        const double half = (many.difference_interval.high - many.difference_interval.low) / 2;
        told += half < 1.5 * std::fabs(few.difference) ? 1 : 0;
    }
    ASSERT_GT(asked, 5);
    EXPECT_GE(told, asked * 8 / 10);
}

TEST(Statistics, NoiseThatIsKnownToBeSmallAsksForNoMoreSeeds) {
    std::vector<PairedValues> pairs;
    for (std::uint64_t seed = 0; seed < 40; ++seed) pairs.push_back({seed, 1000, seed % 2 == 0 ? 999.0 : 1001.0});
    const Effect effect = effect_of(pairs, Better::lower, 0.05);
    EXPECT_EQ(effect.kind, Kind::noise);
    EXPECT_TRUE(effect.negligible);
    EXPECT_EQ(effect.seeds_to_tell, 0U);
}

TEST(Statistics, RunsArePairedByScenarioAndSeedWhateverTheirOrder) {
    Comparison comparison = small_comparison();
    comparison.runs.clear();
    comparison.runs.push_back({1, 0, 7, 0, true, "", {70}});
    comparison.runs.push_back({0, 0, 8, 0, true, "", {8}});
    comparison.runs.push_back({0, 0, 7, 0, true, "", {7}});
    comparison.runs.push_back({1, 0, 9, 0, true, "", {90}});
    comparison.runs.push_back({1, 0, 8, 0, true, "", {80}});
    const auto pairs = PairedRuns(comparison).pairs(0, 1, 0);
    ASSERT_EQ(pairs.size(), 2U);
    EXPECT_EQ(pairs[0].base, 7);
    EXPECT_EQ(pairs[0].value, 70);
    EXPECT_EQ(pairs[1].value, 80);
    EXPECT_TRUE(std::isnan(PairedRuns(comparison).mean(0, 1))) << "a run that lacks a value has none";
}

TEST(Statistics, AQuantileIsTheFirstValueThatReachesItsShare) {
    const Distribution distribution{0, "m", "ms", 4, {{1, 0.25}, {2, 0.5}, {5, 0.75}, {9, 1}}};
    EXPECT_EQ(quantile(distribution, 0.5), 2);
    EXPECT_EQ(quantile(distribution, 0.51), 5);
    EXPECT_EQ(quantile(distribution, 1), 9);
    EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

}  // namespace
}  // namespace lockstep::reports
