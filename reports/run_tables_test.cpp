#include "reports/run_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunReport three_runs() {
    RunReport report;
    report.build = "0.1.0+abc";
    report.results = {
        {.file = "a.json", .name = "alpha", .seed = 1, .passed = true, .digest = 21, .virtual_ms = 2500, .events = 7},
        {.file = "a.json", .name = "alpha", .seed = 2, .digest = 22, .virtual_ms = 500, .events = 3},
        {.file = "b.json", .name = "x,\"|<b>", .seed = 1, .without = {"job_lock", "lock_fencing"}}};
    report.results[1].violations = {{.invariant = "no_lost_job", .detail = "it is *gone*"},
                                    {.invariant = "fail_closed"}};
    report.results[1].replay = "lockstep run a.json --seed 2";
    report.results[2].error = "line\nbreak";
    report.results[2].expectations = {{"a", "b", false}, {"c", "c", true}};
    report.vacuous = {"alpha: nothing fired"};
    return report;
}

TEST(RunTables, HasARowForEachRun) {
    EXPECT_EQ(
        run_csv(three_runs()),
        "file,scenario,seed,without,passed,digest,events,virtual_ms,wall_ms,violated,expectations_missed,error,replay\n"
        "a.json,alpha,1,,true,0000000000000015,7,2500,0,,0,,\n"
        "a.json,alpha,2,,false,0000000000000016,3,500,0,fail_closed no_lost_job,0,,lockstep run a.json --seed 2\n"
        "b.json,\"x,\"\"|<b>\",1,job_lock lock_fencing,false,0000000000000000,0,0,0,,1,\"line\nbreak\",\n");
}

TEST(RunTables, PageSaysWhatFailedAndHowToSeeItAgain) {
    const std::string page = run_markdown(three_runs());
    EXPECT_THAT(page, HasSubstr("# 2 of 3 runs failed\n\nMade by lockstep 0.1.0\\+abc.\n"));
    EXPECT_THAT(
        page, HasSubstr("## alpha, seed 2\n\nno\\_lost\\_job: it is \\*gone\\*\n\n    lockstep run a.json --seed 2\n"));
    EXPECT_THAT(page, HasSubstr("| alpha |  | 2 | 1 | 3 | 10 |\n")) << "of all its runs";
    EXPECT_THAT(page, HasSubstr("- alpha: nothing fired\n"));
    EXPECT_THAT(page, Not(HasSubstr("<b>"))) << "no name is markup";
    EXPECT_THAT(page, Not(HasSubstr("Not complete")));
}

TEST(RunTables, PageSaysWhenRunsAreMissing) {
    RunReport report = three_runs();
    report.incomplete = "interrupted: 3 of 9 runs were made to their end";
    EXPECT_THAT(run_markdown(report), HasSubstr("Not complete: interrupted: 3 of 9 runs"));
}

}  // namespace
}  // namespace lockstep::reports
