#include "reports/compare/comparison_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <pugixml.hpp>
#include <string>
#include <vector>

#include "reports/compare/pictures.h"
#include "reports/compare/test_comparison.h"

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const PlotterOptions kNoPlotter{"no-such-plotter", std::chrono::seconds(20)};

std::string page_of(const Comparison& comparison, const PlotterOptions& options = {}) {
    return comparison_html(comparison, analyse(comparison), options);
}

bool plotter_installed() { return plotted("", {}).has_value(); }

std::vector<std::string> pictures_in(const std::string& page) {
    const std::string end = "</svg>";
    std::vector<std::string> pictures;
    for (std::size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1))
        pictures.push_back(page.substr(at, page.find(end, at) + end.size() - at));
    return pictures;
}

TEST(ComparisonPage, SaysTheVerdictFirstAndHowToRepeatItLast) {
    const std::string page = page_of(small_comparison());
    const std::size_t verdict = page.find("<p>Keep &quot;default&quot;");
    ASSERT_NE(verdict, std::string::npos);
    EXPECT_LT(verdict, page.find("<h2>"));
    EXPECT_LT(page.find("<h2>Pictures"), page.find("<h2>Every measure"));
    EXPECT_THAT(page.substr(page.find("<h2>To repeat it")),
                HasSubstr("lockstep compare scenarios/compare/backoff.json --seeds 30"));
    EXPECT_THAT(page, HasSubstr("0123456789abcdef"));
    EXPECT_THAT(page, HasSubstr(analyse(small_comparison()).digest));
}

TEST(ComparisonPage, MakesNoRequestAndRunsNothing) {
    for (const Comparison& comparison : {small_comparison(), grid_comparison()}) {
        const std::string page = page_of(comparison);
        EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\""));
        for (const char* outside : {"http:", "https:", "<script", "<link", "<img", "@import", "url(", "src=", "href"})
            EXPECT_THAT(page, Not(HasSubstr(outside)));
    }
}

TEST(ComparisonPage, EqualComparisonsGiveEqualBytes) {
    EXPECT_EQ(page_of(small_comparison()), page_of(small_comparison()));
    EXPECT_EQ(page_of(grid_comparison()), page_of(grid_comparison()));
}

TEST(ComparisonPage, ForeignTextIsEscapedEverywhere) {
    const std::string hostile = "<script>alert(1)</script>\"'&{{{style}}}";
    Comparison comparison = grid_comparison();
    comparison.title = comparison.question = comparison.file = comparison.version = comparison.commit = hostile;
    comparison.command = comparison.scenarios[0].name = comparison.scenarios[0].file = comparison.scenarios[0].hash =
        hostile;
    comparison.not_shared = {hostile};
    comparison.variants[1].name = comparison.variants[0].settings[hostile] = hostile;
    comparison.faults = {{hostile, 1000, 2000}};
    for (Distribution& one : comparison.distributions) one.measure = one.unit = hostile;
    comparison.axes[0].first = comparison.axes[0].second[2] = comparison.axes[1].second[1] = hostile;
    comparison.criteria.objectives[0] = comparison.measures[0].name = comparison.measures[0].unit = hostile;
    comparison.measures[1].about = hostile;
    comparison.criteria.limits[hostile] = 0.01;
    comparison.runs.back().passed = false;
    comparison.runs.back().problem = hostile;
    for (const PlotterOptions& options : {PlotterOptions{}, kNoPlotter}) {
        const std::string page = page_of(comparison, options);
        EXPECT_THAT(page, Not(HasSubstr("<script")));
        EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&apos;&amp;{{{style}}}"));
    }
}

TEST(ComparisonPage, WithoutAPlotterTablesStandInAndThePageSaysSo) {
    const std::string page = page_of(small_comparison(), kNoPlotter);
    EXPECT_THAT(page, Not(HasSubstr("<svg")));
    EXPECT_THAT(page, HasSubstr("Tables stand in for pictures: no-such-plotter is not installed"));
    EXPECT_THAT(page, HasSubstr("<details open>"));
    EXPECT_THAT(page, HasSubstr("Distribution of submit_to_terminal"));
}

TEST(ComparisonPage, PicturesAreDrawnWhereThereIsAPlotter) {
    if (!plotter_installed()) GTEST_SKIP() << "gnuplot is not installed";
    const std::string page = page_of(small_comparison());
    const std::vector<std::string> pictures = pictures_in(page);
    EXPECT_EQ(pictures.size(), 4U) << "a distribution, attempts, backlog, retries";
    for (const std::string& picture : pictures) {
        pugi::xml_document document;
        EXPECT_TRUE(document.load_string(picture.c_str()));
        EXPECT_FALSE(document.select_node("//*[@id]"));
        EXPECT_TRUE(document.select_node("//text"));
        EXPECT_THAT(picture, HasSubstr("var(--s1)"));
        EXPECT_THAT(picture, Not(HasSubstr("black")));
    }
    EXPECT_THAT(page, Not(HasSubstr("Tables stand in")));
    EXPECT_THAT(page, HasSubstr("var(--f1)"));
}

TEST(ComparisonPage, AGridHasAHeatMapAndAParetoFront) {
    const std::string page = page_of(grid_comparison());
    EXPECT_THAT(page, HasSubstr("submit_to_terminal.p99 over the grid"));
    EXPECT_THAT(page, HasSubstr("What can be had for what"));
    EXPECT_THAT(page, HasSubstr("Drawn are 8 of the 9 tunings"));
    EXPECT_THAT(page_of(small_comparison()), Not(HasSubstr("over the grid")));
}

TEST(ComparisonPage, TheHeatMapHoldsEveryPairOfSettings) {
    const Comparison comparison = grid_comparison();
    const Analysis analysis = analyse(comparison);
    const HeatMap map = heat_map_of(comparison, analysis);
    ASSERT_EQ(map.rows.size(), 3U);
    int best = 0;
    int taken = 0;
    for (const auto& row : map.rows)
        for (const HeatMap::Cell& cell : row) {
            best += cell.shade == 6 ? 1 : 0;
            taken += cell.taken ? 1 : 0;
            EXPECT_GE(cell.shade, 0);
        }
    EXPECT_EQ(taken, 1);
    EXPECT_GE(best, 1);
    EXPECT_EQ(map.rows[0][1].shade, 6) << "200ms, 1s, 5s across: the second is fastest";
}

TEST(ComparisonPage, StaysBelowItsSizeWhateverItHolds) {
    Comparison comparison = small_comparison();
    for (int i = 0; i < 300; ++i) {
        comparison.variants.push_back({"variant " + std::to_string(i), {{"backoff_base", std::string(200, 'x')}}});
        comparison.distributions.push_back({comparison.variants.size() - 1, "m", "ms", 1, {{1, 1}}});
    }
    for (int i = 0; i < 30; ++i)
        comparison.measures.push_back(
            {"measure." + std::to_string(i), "ms", Measure::Better::lower, std::string(100, 'y')});
    const std::string page = page_of(comparison);
    EXPECT_LE(page.size(), kPageBytesMax);
    EXPECT_THAT(page, HasSubstr("left out so that the page stays below 2 MB"));
    EXPECT_THAT(page, HasSubstr("<h2>To repeat it</h2>"));
}

TEST(ComparisonPage, AFailedRunAndAnInterruptionAreSeen) {
    Comparison comparison = small_comparison();
    comparison.complete = false;
    comparison.runs.back().passed = false;
    comparison.runs.back().problem = "a job was lost";
    const std::string page = page_of(comparison, kNoPlotter);
    EXPECT_THAT(page, HasSubstr("pool_outage with seed 30: a job was lost"));
    EXPECT_THAT(page, HasSubstr("The comparison was interrupted"));
}

TEST(ComparisonPage, AComparisonWithNothingInItIsStillAPage) { EXPECT_THAT(page_of({}), HasSubstr("</html>")); }

TEST(Pictures, DrawAtMostAsManyVariantsAsCanBeToldApart) {
    const Comparison comparison = grid_comparison();
    const Analysis analysis = analyse(comparison);
    const auto drawn = drawn_variants(comparison, analysis);
    EXPECT_EQ(drawn.size(), kVariantsDrawnMax);
    EXPECT_EQ(drawn.front(), 0U);
    ASSERT_TRUE(analysis.verdict.take.has_value());
    EXPECT_NE(std::ranges::find(drawn, *analysis.verdict.take), drawn.end());
}

}  // namespace
}  // namespace lockstep::reports
