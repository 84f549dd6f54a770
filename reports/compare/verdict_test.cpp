#include "reports/compare/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/compare/test_comparison.h"
#include "reports/compare/words.h"

namespace lockstep::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Variants by the means of two measures, `first` and `second`, 12 seeds; a variant differs from another by the same
/// factor under every seed.
class Variants {
public:
    Variants() {
        comparison.scenarios = {{"s.json", "s", "1"}};
        comparison.measures = {{"first", "ms", Measure::Better::lower, ""},
                               {"second", "count", Measure::Better::lower, ""}};
        comparison.criteria.objectives = {"first", "second"};
    }
    Variants& add(const std::string& name, double first, double second) {
        const std::size_t variant = comparison.variants.size();
        comparison.variants.push_back({name, {}});
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            const double weight = 0.8 + 0.03 * static_cast<double>(seed);
            comparison.runs.push_back({variant, 0, seed, seed, true, "", {first * weight, second * weight}});
        }
        return *this;
    }
    /// The values of `first` stray so far that nothing can be said of it.
    Variants& stray() {
        for (ComparedRun& run : comparison.runs)
            if (run.variant + 1 == comparison.variants.size()) run.values[0] *= run.seed % 3 == 0 ? 2.2 : 0.3;
        return *this;
    }
    Variants& fail_one() {
        comparison.runs.back().passed = false;
        comparison.runs.back().problem = "a job was lost.";
        return *this;
    }
    [[nodiscard]] std::string taken() const {
        const auto take = analyse(comparison).verdict.take;
        return take ? comparison.variants[*take].name : "none";
    }
    [[nodiscard]] std::vector<std::string> said() const { return analyse(comparison).verdict.sentences; }

    Comparison comparison;
};

TEST(Verdict, TakesWhatImprovesTheFirstObjectiveAndSaysWhatItCosts) {
    const Variants variants = Variants().add("now", 100, 10).add("fast", 70, 12);
    EXPECT_EQ(variants.taken(), "fast");
    const auto said = variants.said();
    ASSERT_EQ(said.size(), 3U);
    EXPECT_THAT(said[0], HasSubstr("Take \"fast\": its first is 30 % lower"));
    EXPECT_THAT(
        said[1],
        HasSubstr("the difference is -30 %, as far as digits are shown, over 12 seeds (24 runs, all of which held"));
    EXPECT_THAT(said[2], HasSubstr("It costs: second 20 % higher"));
}

TEST(Verdict, AVariantWithAFailedRunCannotWin) {
    const Variants variants = Variants().add("now", 100, 10).add("fast", 50, 10).fail_one();
    EXPECT_EQ(variants.taken(), "now");
    EXPECT_THAT(variants.said()[0], HasSubstr("but \"fast\" failed 1 of 12 runs (s with seed 12: a job was lost)"));
    EXPECT_THAT(variants.said()[2], HasSubstr("It costs what \"fast\" would bring: first 50 % lower"));
}

TEST(Verdict, WhereTheFirstVariantFailsAnotherIsTakenThatDoesNot) {
    const Variants variants = Variants().add("now", 100, 10).fail_one().add("slow", 120, 10);
    EXPECT_EQ(variants.taken(), "slow");
    EXPECT_THAT(variants.said()[0], HasSubstr("\"now\" failed"));
    EXPECT_EQ(Variants().add("now", 1, 1).fail_one().add("other", 1, 1).fail_one().taken(), "none");
}

TEST(Verdict, ALimitOutweighsAnObjective) {
    Variants variants = Variants().add("now", 100, 10).add("fast", 70, 12).add("moderate", 80, 10.5);
    variants.comparison.criteria.limits["second"] = 0.1;
    EXPECT_EQ(variants.taken(), "moderate");
    variants.comparison.criteria.limits["second"] = 0.01;
    EXPECT_EQ(variants.taken(), "now");
    EXPECT_THAT(variants.said()[0], HasSubstr("breaks the limit on second"));
}

TEST(Verdict, ALimitThatIsNotShownToHoldDoesNotHold) {
    Variants variants = Variants().add("now", 100, 10).add("fast", 100, 5).stray();
    variants.comparison.criteria.objectives = {"second"};
    EXPECT_EQ(variants.taken(), "fast");
    variants.comparison.criteria.limits["first"] = 0.1;
    EXPECT_EQ(variants.taken(), "now");
    EXPECT_THAT(variants.said()[0], HasSubstr("not shown to keep the limit on first"));
}

TEST(Verdict, NoiseIsNoReasonToChange) {
    const Variants variants = Variants().add("now", 100, 10).add("stray", 99, 10).stray();
    EXPECT_EQ(variants.taken(), "now");
    EXPECT_THAT(variants.said()[0], HasSubstr("no other tuning is shown to be better"));
    EXPECT_THAT(variants.said()[1], HasSubstr("noise: about"));
}

TEST(Verdict, AnImprovementBelowWhatMattersIsNoReasonToChange) {
    EXPECT_EQ(Variants().add("now", 100, 10).add("hardly", 97, 10).taken(), "now");
}

TEST(Verdict, AnImprovementThatIsRealAndSmallIsNoReasonToChange) {
    // By 4 %, and the interval reaches beyond the 5 % that matter.
    Variants variants = Variants().add("now", 100, 10).add("hardly", 96, 10);
    for (ComparedRun& run : variants.comparison.runs)
        if (run.variant == 1) run.values[0] *= run.seed % 2 == 0 ? 1.02 : 0.98;
    EXPECT_EQ(analyse(variants.comparison).effects[1][0].kind, Effect::Kind::better);
    EXPECT_FALSE(analyse(variants.comparison).effects[1][0].negligible);
    EXPECT_EQ(variants.taken(), "now");
}

TEST(Verdict, WhatMakesAGuardWorseIsATradeOff) {
    Variants variants = Variants().add("now", 100, 10).add("fast", 50, 10.1);
    EXPECT_EQ(variants.taken(), "fast") << "1 % more is no cost that matters";
    variants.comparison.measures[1].guard = true;
    EXPECT_EQ(variants.taken(), "none") << "of a guard any difference beyond noise counts";
    const auto said = variants.said();
    ASSERT_EQ(said.size(), 3U);
    EXPECT_THAT(said[0], HasSubstr("No recommendation: a trade-off. \"fast\" has first 50 % lower"));
    EXPECT_THAT(said[0], HasSubstr("and second 1 % higher"));
    EXPECT_THAT(said[2], HasSubstr("Keep \"now\" where what gets worse counts more"));
    EXPECT_EQ(analyse(variants.comparison).verdict.rule,
              "Chosen by first and second; differences below 5 % do not count; none of second may become worse.");
    variants.add("moderate", 80, 10);
    EXPECT_EQ(variants.taken(), "moderate") << "better, and no guard is worse";
}

TEST(Verdict, AFirstVariantThatPaysWithAGuardIsATradeOffToo) {
    Variants variants = Variants().add("open", 50, 10).add("closed", 100, 2);
    variants.comparison.criteria.objectives = {"first"};
    EXPECT_EQ(variants.taken(), "open");
    variants.comparison.measures[1].guard = true;
    EXPECT_EQ(variants.taken(), "none");
    EXPECT_THAT(variants.said()[0], HasSubstr("\"closed\" has second 80 % lower"));
    EXPECT_THAT(variants.said()[0], HasSubstr("and first 100 % higher"));
}

TEST(Verdict, WhatIsTheSameInAllIsNamedAndIsOnNoFront) {
    Variants variants = Variants().add("now", 100, 10).add("fast", 70, 10);
    EXPECT_THAT(analyse(variants.comparison).verdict.pareto, ElementsAre()) << "one that differs makes no front";
    EXPECT_THAT(analyse(variants.comparison).verdict.rule, HasSubstr("; the same in all tunings: second."));
}

TEST(Verdict, SaysHowToApplyWhatItTakes) {
    Variants variants = Variants().add("now", 100, 10).add("fast", 70, 10);
    variants.comparison.variants[1].settings = {{"backoff_base", "5s"}, {"cluster.schedulers", "3"}};
    EXPECT_THAT(analyse(variants.comparison).verdict.apply,
                ElementsAre("LOCKSTEP_BACKOFF_BASE=5s", "cluster.schedulers = 3 (of the scenario)"));
}

TEST(Verdict, TheSecondObjectiveDecidesWhereTheFirstDoesNot) {
    EXPECT_EQ(Variants().add("now", 100, 10).add("fast", 70, 10).add("fast and cheap", 70.5, 5).taken(),
              "fast and cheap");
    EXPECT_EQ(Variants().add("now", 100, 10).add("cheap", 101, 5).taken(), "cheap");
    const Variants trade = Variants().add("now", 100, 10).add("slow and cheap", 120, 5);
    EXPECT_EQ(trade.taken(), "now");
    EXPECT_THAT(trade.said()[2],
                HasSubstr("would bring: second 50 % lower (9.95 → 4.975), at the price of first 20 % higher"));
}

TEST(Verdict, EqualVariantsLeaveEverythingAsItIs) {
    const Variants variants = Variants().add("now", 100, 10).add("again", 100, 10);
    EXPECT_EQ(variants.taken(), "now");
    EXPECT_THAT(variants.said()[1], HasSubstr("None has a better first on average"));
}

TEST(Verdict, WithoutAnObjectiveNothingIsRecommended) {
    Variants variants = Variants().add("now", 100, 10).add("fast", 70, 10);
    variants.comparison.criteria.objectives = {"no such measure"};
    EXPECT_EQ(variants.taken(), "none");
    EXPECT_EQ(variants.said().size(), 3U);
}

TEST(Verdict, SaysThatRunsAreMissing) {
    Variants variants = Variants().add("now", 100, 10).add("fast", 70, 10);
    EXPECT_THAT(variants.said()[1], Not(HasSubstr("interrupted")));
    variants.comparison.complete = false;
    EXPECT_THAT(variants.said()[1], HasSubstr("interrupted"));
}

TEST(Verdict, TheParetoFrontIsWhatNobodyBeatsInBothObjectives) {
    const Variants variants = Variants()
                                  .add("now", 100, 10)
                                  .add("fast", 70, 12)
                                  .add("beaten", 101, 11)
                                  .add("cheap", 130, 5)
                                  .add("best", 1, 1)
                                  .fail_one();
    EXPECT_THAT(analyse(variants.comparison).verdict.pareto, ElementsAre(1, 0, 3));
}

TEST(Verdict, TheDigestIsOfTheRunsAndNotOfTheirOrder) {
    Variants variants = Variants().add("now", 100, 10).add("fast", 70, 12);
    const std::string digest = analyse(variants.comparison).digest;
    std::swap(variants.comparison.runs[0], variants.comparison.runs[5]);
    EXPECT_EQ(analyse(variants.comparison).digest, digest);
    ++variants.comparison.runs[0].digest;
    EXPECT_NE(analyse(variants.comparison).digest, digest);
}

TEST(Words, NumbersHaveFourDigitsAndSeparators) {
    EXPECT_EQ(number_text(1204511.4), "1,204,511");
    EXPECT_EQ(number_text(-1234.5), "-1,234");
    EXPECT_EQ(number_text(8.25), "8.25");
    EXPECT_EQ(number_text(200), "200");
    EXPECT_EQ(number_text(0.01234), "0.0123");
    EXPECT_EQ(number_text(0), "0");
    EXPECT_EQ(number_text(kNone), "none");
    EXPECT_EQ(quantity_text(12345, "ms"), "12.3 s");
    EXPECT_EQ(quantity_text(876, "ms"), "876 ms");
    EXPECT_EQ(quantity_text(876, "ms", 12345), "0.876 s") << "beside one that is told in seconds";
    EXPECT_EQ(quantity_text(21, "count"), "21");
    EXPECT_EQ(signed_percent_text(-0.274), "-27 %");
    EXPECT_EQ(signed_percent_text(0.0344), "+3.4 %");
    EXPECT_EQ(signed_percent_text(0), "0 %");
    EXPECT_EQ(percent_text(12.5), "1,250 %");
}

TEST(Words, AnEffectIsToldInWords) {
    EXPECT_EQ(effect_words(effect_of({{1, 2, 2}}, Measure::Better::lower, 0.05), 0.05), "the same");
    EXPECT_THAT(effect_words(effect_of({{1, 2, 3}}, Measure::Better::lower, 0.05), 0.05), HasSubstr("at least 6"));
    EXPECT_THAT(effect_words(effect_of({{1, 2, 2}, {2, kNone, 1}}, Measure::Better::lower, 0.05), 0.05),
                HasSubstr("1 pair left out"));
}

}  // namespace
}  // namespace lockstep::reports
