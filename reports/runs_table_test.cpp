#include "reports/runs_table.h"

#include <gmock/gmock.h>

#include <pugixml.hpp>

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Timeline with_run(const std::string& name) {
    Timeline timeline;
    timeline.runs = {{.id = name,
                      .workflow = "order",
                      .state = "succeeded",
                      .from_us = 1'000'000,
                      .to_us = 5'000'000,
                      .steps = {{.key = "pay",
                                 .state = "succeeded",
                                 .attempts = 2,
                                 .phases = {{"failed", 1'000'000, 2'000'000},
                                            {"pause", 2'000'000, 3'000'000},
                                            {"succeeded", 3'000'000, 5'000'000}},
                                 .jobs = {name + ":pay@1", name + ":pay@2"}},
                                {.key = "tell", .state = "skipped"}}}};
    return timeline;
}

TEST(RunsTable, HasARowForEachRunAndStepAndNeedsNoScript) {
    const std::string table = runs_table(with_run("run-1"));
    pugi::xml_document html;
    ASSERT_TRUE(html.load_string(table.c_str(), pugi::parse_default & ~pugi::parse_escapes)) << table;
    const auto rows = html.select_nodes("//tbody/tr");
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_STREQ(html.select_node("//tr[2]/th").node().text().get(), "pay");
    EXPECT_EQ(html.select_nodes("//tr[2]/td[@class='chart']/div/i").size(), 3U);
    EXPECT_THAT(table, HasSubstr("left:50.00%;width:50.00%"));
    EXPECT_THAT(table, HasSubstr("<a data-job=\"run-1:pay@2\">run-1:pay@2</a>"));
    EXPECT_THAT(table, HasSubstr("<td>2</td><td>1.000s</td><td>4.000s</td>")) << "attempts, when and how long";
}

TEST(RunsTable, NoNameIsMarkup) {
    const std::string table = runs_table(with_run("\"><script>alert(1)</script>{{data}}"));
    EXPECT_THAT(table, Not(HasSubstr("<script")));
    EXPECT_THAT(table, Not(HasSubstr("{{")));
    EXPECT_THAT(table, HasSubstr("data-job=\"&quot;>&lt;script>alert(1)&lt;/script>&#123;&#123;data}}:pay@1\""));
}

TEST(RunsTable, WithoutRunsThereIsNone) { EXPECT_EQ(runs_table({}), ""); }

TEST(RunsTable, ARunOfNoLengthIsNoDivisionByZero) {
    Timeline timeline;
    timeline.runs = {{.id = "r", .workflow = "w", .state = "odd one", .from_us = 7, .to_us = 7}};
    EXPECT_THAT(runs_table(timeline), HasSubstr("left:0.00%;width:0.00%"));
}

}  // namespace
}  // namespace lockstep::reports
