#include "reports/jobs_table.h"

#include <gmock/gmock.h>

#include <pugixml.hpp>

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Timeline with_job(const std::string& id) {
    Timeline timeline;
    timeline.texts = {"", id};
    timeline.jobs = {{.id = id,
                      .state = "SUCCEEDED",
                      .attempts = 2,
                      .from_us = 0,
                      .to_us = 4'000'000,
                      .stretches = {{"its_turn", 0, 500'000},
                                    {"policy", 500'000, 1'000'000},
                                    {"no_workers", 1'000'000, 2'000'000},
                                    {"tenant_limit", 2'000'000, 2'500'000},
                                    {"dispatched", 2'500'000, 3'000'000},
                                    {"running", 3'000'000, 4'000'000}}}};
    return timeline;
}

TEST(JobsTable, HasABarForEachJobInTheColoursOfWhatItWaitedFor) {
    const std::string table = jobs_table(with_job("hello"));
    pugi::xml_document html;
    ASSERT_TRUE(html.load_string(table.c_str(), pugi::parse_default & ~pugi::parse_escapes)) << table;
    const auto bar = html.select_nodes("//tbody/tr/td[@class='chart']/div/i");
    ASSERT_EQ(bar.size(), 6U);
    EXPECT_STREQ(bar[0].node().attribute("class").value(), "w-turn");
    EXPECT_STREQ(bar[2].node().attribute("class").value(), "w-worker");
    EXPECT_STREQ(bar[5].node().attribute("class").value(), "at-work");
    EXPECT_STREQ(bar[2].node().attribute("style").value(), "left:25.00%;width:25.00%");
    EXPECT_STREQ(bar[2].node().attribute("title").value(), "waits for a worker (no_workers): 1.000s from 1.000s");
    EXPECT_STREQ(bar[5].node().attribute("title").value(), "executed: 1.000s from 3.000s");
    EXPECT_THAT(table,
                HasSubstr("<td>a worker (no_workers) 1.000s, its tenant's limit 0.500s, its turn 0.500s, the safety "
                          "kernel 0.500s</td>"))
        << "in words, too, the longest first";
    EXPECT_THAT(table, HasSubstr("<td>2</td><td>0.000s</td><td>4.000s</td>")) << "tries, when and how long";
    EXPECT_THAT(table, HasSubstr("<i class=\"w-retry\"></i>retry back-off")) << "the legend names each";
}

TEST(JobsTable, ACauseOfItsOwnKeepsItsNameAndCountsAsBackOff) {
    Timeline timeline = with_job("hello");
    timeline.jobs.front().stretches = {{"store_is_away", 0, 1'000'000}};
    const std::string table = jobs_table(timeline);
    EXPECT_THAT(table, HasSubstr("<i class=\"w-retry\" style"));
    EXPECT_THAT(table, HasSubstr("waits for retry back-off (store_is_away): 1.000s"));
}

TEST(JobsTable, AJobCanBeLinkedTo) {
    const std::string table = jobs_table(with_job("wf:run 1\"&<"));
    EXPECT_THAT(table, HasSubstr("<tr id=\"job:wf:run 1&quot;&amp;&lt;\""));
    EXPECT_THAT(table, HasSubstr("<a href=\"#job:wf:run%201%22%26%3C\">"));
}

TEST(JobsTable, NoNameIsMarkup) {
    const std::string table = jobs_table(with_job("\"><script>alert(1)</script>{{data}}"));
    EXPECT_THAT(table, Not(HasSubstr("<script")));
    EXPECT_THAT(table, Not(HasSubstr("{{")));
}

TEST(JobsTable, FoldsIdleTimeAndSaysHowLongItWas) {
    Timeline timeline = with_job("hello");
    timeline.jobs.front().stretches = {{"approval", 0, 600'000'000}, {"running", 600'000'000, 601'000'000}};
    timeline.jobs.front().to_us = 601'000'000;
    timeline.folds = {{1'000'000, 553'500'000}};
    const std::string table = jobs_table(timeline);
    EXPECT_THAT(table, HasSubstr("Folded, as nothing happens: 9m12s from 1.000s"));
    EXPECT_THAT(table, HasSubstr("style=\"--folds:linear-gradient(90deg,"));
    EXPECT_THAT(jobs_table(with_job("hello")), Not(HasSubstr("Folded")));
}

TEST(JobsTable, OfTooManyJobsThoseAreListedThatAReaderLooksForAndItSaysSo) {
    Timeline timeline;
    timeline.texts = {"", "job-2"};
    timeline.job = 1;
    for (int n = 0; n < 50; ++n)
        timeline.jobs.push_back({.id = "job-" + std::to_string(n),
                                 .state = n == 30 ? "FAILED" : "SUCCEEDED",
                                 .from_us = n,
                                 .to_us = n == 40 ? 9000 : n + 10});
    timeline.table_bytes_max = 1200;
    const std::string table = jobs_table(timeline);
    EXPECT_LT(table.size(), 3000U);
    for (const char* job : {"job-2", "job-30", "job-40"})
        EXPECT_THAT(table, HasSubstr(std::string("data-job=\"") + job + "\""));
    EXPECT_LT(table.find("job-30\""), table.find("job-40\"")) << "in the order in which they began";
    EXPECT_THAT(table, Not(HasSubstr("data-job=\"job-11\"")));
    EXPECT_THAT(table, HasSubstr(" of 50 jobs are listed: the one of the violation, those that did not succeed"));
    EXPECT_THAT(table, HasSubstr("`lockstep explain FILE --job ID`"));
}

TEST(JobsTable, WhatIsNoPixelWideIsToldInWordsOnly) {
    Timeline timeline = with_job("hello");
    timeline.jobs.front().to_us = 100'000'000;
    timeline.jobs.front().stretches = {{"its_turn", 0, 2'000}, {"running", 2'000, 100'000'000}};
    const std::string table = jobs_table(timeline);
    EXPECT_THAT(table, Not(HasSubstr("<i class=\"w-turn\" style")));
    EXPECT_THAT(table, HasSubstr("<i class=\"at-work\" style"));
    EXPECT_THAT(table, HasSubstr("<td>its turn 0.002s</td>"));
    timeline.jobs.push_back({.id = "short", .from_us = 0, .to_us = 2'000, .stretches = {{"its_turn", 0, 2'000}}});
    EXPECT_THAT(jobs_table(timeline), HasSubstr("<i class=\"w-turn\" style")) << "no bar is empty";
}

TEST(JobsTable, IsNothingWithoutJobs) { EXPECT_THAT(jobs_table({}), IsEmpty()); }

}  // namespace
}  // namespace lockstep::reports
