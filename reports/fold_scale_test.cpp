#include "reports/fold_scale.h"

#include <gmock/gmock.h>

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FoldScale, IsAStraightLineWhereNothingIsFolded) {
    const FoldScale scale({}, 1000, 3000);
    EXPECT_DOUBLE_EQ(scale.percent(1000), 0);
    EXPECT_DOUBLE_EQ(scale.percent(1500), 25);
    EXPECT_DOUBLE_EQ(scale.percent(3000), 100);
    EXPECT_DOUBLE_EQ(scale.percent(9000), 100) << "nothing is drawn beside the chart";
    EXPECT_THAT(scale.background(), IsEmpty());
}

TEST(FoldScale, AFoldIsAsWideAsAnyOtherHoweverLongItWas) {
    const FoldScale scale({{1000, 2000}, {3000, 900'000}}, 0, 901'000);
    const double first = scale.percent(2000) - scale.percent(1000);
    const double second = scale.percent(900'000) - scale.percent(3000);
    EXPECT_NEAR(first, second, 1e-9);
    EXPECT_LT(second, 5);
    EXPECT_NEAR(scale.percent(1000), scale.percent(3000) - scale.percent(2000), 1e-9) << "awake time keeps its measure";
    EXPECT_NEAR(scale.percent(901'000), 100, 1e-9);
    EXPECT_GT(scale.percent(500'000), scale.percent(3000));
    EXPECT_LT(scale.percent(500'000), scale.percent(900'000));
    EXPECT_THAT(scale.background(), HasSubstr("var(--fold)"));
}

TEST(FoldScale, ManyFoldsLeaveHalfTheWidth) {
    std::vector<Timeline::Fold> folds;
    for (std::int64_t n = 0; n < 90; ++n) folds.push_back({n * 1000 + 500, n * 1000 + 1000});
    const FoldScale scale(folds, 0, 90'000);
    double folded = 0;
    for (const Timeline::Fold& fold : folds) folded += scale.percent(fold.to_us) - scale.percent(fold.from_us);
    EXPECT_NEAR(folded, 50, 1e-6);
}

TEST(FoldScale, KnowsTheFoldsOfItsSpanOnly) {
    const FoldScale scale({{0, 1000}, {5000, 9000}, {20'000, 30'000}}, 500, 7000);
    ASSERT_THAT(scale.folds(), SizeIs(2));
    EXPECT_EQ(scale.folds().front().from_us, 500);
    EXPECT_EQ(scale.folds().back().to_us, 7000);
}

TEST(FoldScale, WhatIsFoldedWhollyFillsTheWidth) {
    const FoldScale scale({{0, 1000}}, 100, 900);
    EXPECT_NEAR(scale.percent(500), 50, 1e-9);
    EXPECT_NEAR(scale.percent(900), 100, 1e-9);
}

}  // namespace
}  // namespace lockstep::reports
