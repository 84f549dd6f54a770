#include "reports/compare/builds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/compare/test_comparison.h"
#include "reports/compare/verdict.h"

namespace lockstep::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Builds, AreHeldAgainstEachOtherVariantByVariant) {
    Comparison theirs = small_comparison();
    theirs.commit = "aaaaaaaaaaaaaaaa";
    const Comparison ours = small_comparison();
    const auto joined = join_builds(theirs, ours);
    ASSERT_TRUE(joined) << joined.error();
    std::vector<std::string> names;
    for (const ComparedVariant& variant : joined->variants) names.push_back(variant.name);
    EXPECT_THAT(names, ElementsAre("default, the other build", "default, this build", "patient, the other build",
                                   "patient, this build"));
    EXPECT_THAT(joined->variants[0].settings.at("build"), HasSubstr("(aaaaaaaaaaaa"));
    EXPECT_EQ(joined->runs.size(), 2 * ours.runs.size());
    const Analysis analysis = analyse(*joined);
    for (std::size_t m = 0; m < joined->measures.size(); ++m) {
        const Effect::Kind kind = analysis.effects[1][m].kind;
        EXPECT_TRUE(kind == Effect::Kind::same || kind == Effect::Kind::none) << joined->measures[m].name;
    }
    EXPECT_EQ(analysis.effects[1].front().kind, Effect::Kind::same);
}

TEST(Builds, AMeasureThatOneOfThemDoesNotTakeHasNoValueInItsRuns) {
    const Comparison ours = small_comparison();
    Comparison theirs = ours;
    theirs.measures.pop_back();
    for (ComparedRun& run : theirs.runs) run.values.pop_back();
    const auto joined = join_builds(theirs, ours);
    ASSERT_TRUE(joined) << joined.error();
    EXPECT_EQ(joined->measures.size(), ours.measures.size());
    for (const ComparedRun& run : joined->runs) {
        ASSERT_EQ(run.values.size(), ours.measures.size());
        if (run.variant % 2 == 0) EXPECT_TRUE(std::isnan(run.values.back()));
    }
}

TEST(Builds, OfOtherSeedsOrScenariosAreRefused) {
    const Comparison ours = small_comparison();
    Comparison theirs = ours;
    theirs.seeds.pop_back();
    EXPECT_THAT(join_builds(theirs, ours).error(), HasSubstr("different seeds"));
    theirs = ours;
    theirs.scenarios.front().hash = "another";
    EXPECT_THAT(join_builds(theirs, ours).error(), HasSubstr("different scenarios"));
    theirs = ours;
    theirs.variants.front().settings["more"] = "1";
    EXPECT_THAT(join_builds(theirs, ours).error(), HasSubstr("different variants"));
}

}  // namespace
}  // namespace lockstep::reports
