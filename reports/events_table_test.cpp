#include "reports/events_table.h"

#include <gmock/gmock.h>

#include <pugixml.hpp>

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Timeline with_events(std::uint64_t count) {
    Timeline timeline;
    timeline.lanes = {"redis"};
    timeline.texts = {"", "hello", "state \x01 {{x}} <b>"};
    timeline.jobs = {{.id = "hello"}};
    for (std::uint64_t n = 0; n < count; ++n)
        timeline.events.push_back(
            {.number = n + 1, .us = static_cast<std::int64_t>(n) * 1'000'000, .what = 2, .job = n == 3 ? 1U : 0U});
    timeline.events_total = count;
    return timeline;
}

TEST(EventsTable, HasARowForEachEventWithALinkToTheBarOfItsJob) {
    const std::string table = events_table(with_events(5));
    pugi::xml_document html;
    ASSERT_TRUE(html.load_string(table.c_str(), pugi::parse_default & ~pugi::parse_escapes)) << table;
    EXPECT_EQ(html.select_nodes("//tbody/tr").size(), 5U);
    EXPECT_THAT(table,
                HasSubstr("<tr><td>#4</td><td>3.000000s</td><td>redis</td><td><a href=\"#job:hello\">hello</a></td>"
                          "<td>state hello &#123;&#123;x}} &lt;b></td></tr>"));
    EXPECT_THAT(table, HasSubstr("<p>5 of the 5 events of the run.</p>"));
}

TEST(EventsTable, LeavesNoiseOutAndSaysSo) {
    Timeline timeline = with_events(5);
    timeline.events[1].noise = true;
    const std::string table = events_table(timeline);
    EXPECT_THAT(table, Not(HasSubstr("#2<")));
    EXPECT_THAT(table, HasSubstr("4 of the 5 events of the run; 1 of scripts that Redis did not know"));
}

TEST(EventsTable, OfTooManyEventsThoseAroundTheOpeningStand) {
    Timeline timeline = with_events(1000);
    timeline.opens = {"busiest minute", 500'000'000, 510'000'000};
    timeline.table_bytes_max = 3000;
    const std::string table = events_table(timeline);
    EXPECT_LT(table.size(), 4000U);
    EXPECT_THAT(table, HasSubstr("<td>#505</td>"));
    EXPECT_THAT(table, Not(HasSubstr("<td>#100</td>")));
    EXPECT_THAT(
        table, HasSubstr(" of the 1000 events of the run, around the busiest minute; `lockstep explain FILE --job ID"));
}

TEST(EventsTable, JobsComeBeforeWhatGoesOnAllTheTime) {
    Timeline timeline = with_events(1000);
    timeline.opens = {"busiest minute", 500'000'000, 510'000'000};
    timeline.events[100].job = 1;
    timeline.table_bytes_max = 1000;
    EXPECT_THAT(events_table(timeline), HasSubstr("<td>#101</td>"));
}

TEST(EventsTable, WhatTheVerdictSpeaksOfIsNeverLeftOut) {
    Timeline timeline = with_events(1000);
    timeline.opens = {"violation", 900'000'000, 900'000'001};
    timeline.fact = 900;
    timeline.earlier = 2;
    timeline.job = 1;
    timeline.table_bytes_max = 1000;
    const std::string table = events_table(timeline);
    for (const char* told : {"<td>#901</td>", "<td>#3</td>", "<td>#4</td>"}) EXPECT_THAT(table, HasSubstr(told));
}

TEST(EventsTable, IsNothingWithoutEvents) { EXPECT_THAT(events_table({}), IsEmpty()); }

}  // namespace
}  // namespace lockstep::reports
