#include "reports/compare/trend.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "reports/compare/comparison_html.h"
#include "reports/compare/comparison_markdown.h"
#include "reports/compare/test_comparison.h"

namespace lockstep::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// The first objective of every run becomes so many times what it is.
Comparison scaled(double factor) {
    Comparison out = small_comparison();
    for (ComparedRun& run : out.runs) run.values[0] *= factor;
    return out;
}

Comparison with_history(const std::vector<Comparison>& earlier) {
    Comparison now = small_comparison();
    int number = 0;
    for (const Comparison& one : earlier) now.history.push_back(earlier_result(one, now, fmt::format("r{}", ++number)));
    return now;
}

std::vector<Picture> trends_of(const Comparison& comparison) { return trend_pictures(comparison, analyse(comparison)); }

TEST(Trend, WithoutAHistoryThereIsNone) { EXPECT_THAT(trends_of(small_comparison()), IsEmpty()); }

TEST(Trend, EachResultIsARowThatSaysByHowMuchItDiffersFromTheOneBefore) {
    const Comparison now = with_history({scaled(2), scaled(0.5)});
    const auto trends = trends_of(now);
    ASSERT_THAT(trends, SizeIs(analyse(now).objectives.size()));
    EXPECT_EQ(trends[0].title, "Trend of " + now.measures[0].name);
    EXPECT_THAT(trends[0].table.head, ElementsAre("result", "default", "patient"));
    ASSERT_THAT(trends[0].table.rows, SizeIs(3));
    EXPECT_EQ(trends[0].table.rows[0][0], "r1");
    EXPECT_THAT(trends[0].table.rows[1], ElementsAre("r2", HasSubstr("(-75 %)"), HasSubstr("(-75 %)")));
    EXPECT_THAT(trends[0].table.rows[2], ElementsAre("this one", HasSubstr("(+100 %)"), HasSubstr("(+100 %)")));
    EXPECT_THAT(trends[0].script, HasSubstr("$d1 using 1:2"));
}

TEST(Trend, WhatWasMeasuredOtherwiseIsMarkedAndNotHeldAgainstItsNeighbours) {
    Comparison other = scaled(2);
    other.scenarios[0].hash = "another";
    const auto trends = trends_of(with_history({scaled(1), other}));
    ASSERT_FALSE(trends.empty());
    EXPECT_THAT(trends[0].table.rows[1][0], "r2 *");
    for (const auto& row : trends[0].table.rows) EXPECT_THAT(row[1], ::testing::Not(HasSubstr("%"))) << row[0];
    EXPECT_THAT(trends[0].caption, HasSubstr("* r2: the scenarios differ"));
}

TEST(Trend, VariantsAndMeasuresAreFoundByTheirNames) {
    Comparison earlier = scaled(2);
    std::swap(earlier.variants[0], earlier.variants[1]);
    for (ComparedRun& run : earlier.runs) run.variant = 1 - run.variant;
    Comparison without = scaled(3);
    without.variants[1].name = "another";
    const Comparison now = with_history({scaled(2), earlier, without});
    const auto rows = trends_of(now)[0].table.rows;
    EXPECT_EQ(rows[0][1], rows[1][1].substr(0, rows[0][1].size()));
    EXPECT_EQ(rows[2][2], "none");
    const Measure absent{.name = "absent"};
    Comparison more = now;
    more.measures.push_back(absent);
    EXPECT_TRUE(std::isnan(earlier_result(now, more, "").means[0].back()));
}

TEST(Trend, AGuardThatHasChangedIsShownToo) {
    Comparison earlier = small_comparison();
    std::size_t guard = 0;
    while (guard < earlier.measures.size() && !earlier.measures[guard].guard) ++guard;
    Comparison now = small_comparison();
    if (guard == earlier.measures.size()) {
        guard = earlier.measures.size() - 1;
        now.measures[guard].guard = true;
    }
    for (ComparedRun& run : earlier.runs) run.values[guard] += 1;
    const std::size_t objectives = analyse(now).objectives.size();
    now.history = {earlier_result(now, now, "same")};
    EXPECT_THAT(trends_of(now), SizeIs(objectives));
    now.history = {earlier_result(earlier, now, "other")};
    EXPECT_THAT(trends_of(now), SizeIs(objectives + 1));
}

TEST(Trend, IsInThePageAndInTheMarkdown) {
    const Comparison now = with_history({scaled(2)});
    const Analysis analysis = analyse(now);
    EXPECT_THAT(comparison_html(now, analysis, {"no-such-plotter", std::chrono::seconds(20)}),
                HasSubstr("<h3>Trend of " + now.measures[0].name));
    EXPECT_THAT(comparison_markdown(now, analysis), HasSubstr("### Trend of"));
    EXPECT_THAT(comparison_markdown(now, analysis), HasSubstr("| this one |"));
}

}  // namespace
}  // namespace lockstep::reports
