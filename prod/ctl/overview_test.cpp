// What a deployment is at, for people and for programs.
#include "prod/ctl/overview.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "prod/ctl/live_text.h"
#include "prod/ctl/test_output_schema.h"

namespace lockstep::prod {
namespace {

using nlohmann::json;

Overview first_look() {
    Overview overview;
    overview.at = 1'800'000'002'000'000;
    overview.snapshot_at = 1'800'000'000'500'000;
    overview.jobs = {{"PENDING", 3}, {"RUNNING", 0}, {"SUCCEEDED", 40}, {"FAILED", 2}};
    overview.workers = {{"idle", {.pool = "gpu", .active = 0, .capacity = 4}},
                        {"busy", {.pool = "gpu", .active = 4, .capacity = 4}},
                        {"other", {.pool = "cpu", .active = 1, .capacity = 8}}};
    overview.submissions = MessagesWaiting{.waiting = 7, .in_hand = 2};
    return overview;
}

TEST(Overview, CountsPlacesByPoolAndNamesTheBusiestWorkersFirst) {
    EXPECT_EQ(overview_text(first_look(), nullptr, 2),
              "jobs      3 PENDING, 40 SUCCEEDED, 2 FAILED\n"
              "messages  submissions: 7 not delivered yet, 2 in hand; results: nobody tells\n"
              "workers   3, as a scheduler saw them 1.5s ago\n"
              "  pool cpu                       1 worker       1 of 8 jobs\n"
              "  pool gpu                       2 workers      4 of 8 jobs\n"
              "  busy                        gpu               4 of 4 jobs\n"
              "  other                       cpu               1 of 8 jobs\n"
              "  and 1 more\n");
}

TEST(Overview, TellsHowManyJobsEndBetweenTwoLooks) {
    Overview later = first_look();
    later.at += 2'000'000;
    later.jobs[2].second += 9;
    EXPECT_EQ(later.ended(), 51);
    const Overview before = first_look();
    EXPECT_NE(overview_text(later, &before, 0).find("; 4.5 end a second\n"), std::string::npos);
    EXPECT_EQ(overview_text(before, &later, 0).find("a second"), std::string::npos)
        << "records that expire are no pace";
}

TEST(Overview, SaysSoWhereNobodyTells) {
    EXPECT_NE(overview_text({}, nullptr, 5).find("no scheduler has said who is there"), std::string::npos);
    EXPECT_NE(overview_text({}, nullptr, 5).find("jobs      none\n"), std::string::npos);
}

// C3
TEST(Overview, FitsThePublishedSchemaWhichNoticesAnotherForm) {
    const auto misfit = [](const json& output) { return testing::misfits(LOCKSTEP_OUTPUT_SCHEMA, "top", output); };
    const json shown = overview_json(first_look());
    EXPECT_EQ(misfit(shown), "") << shown;
    EXPECT_EQ(shown["pools"][1], (json{{"pool", "gpu"}, {"workers", 2}, {"active_jobs", 4}, {"max_parallel_jobs", 8}}));
    EXPECT_TRUE(shown["messages"]["results"].is_null());
    EXPECT_EQ(misfit(overview_json({})), "") << "of a deployment without anything";
    json other = shown;
    other["at"] = 1'800'000'002'000'000;
    EXPECT_NE(misfit(other), "");
    json fewer = shown;
    fewer.erase("workers");
    EXPECT_NE(misfit(fewer), "");
}

TEST(LiveText, IsCutToTheTerminalByCharacters) {
    EXPECT_EQ(cut_to("abcdef\ngh\nij\n", 2, 4), "abcd\ngh\n");
    EXPECT_EQ(cut_to("no end", 5, 80), "no end\n");
    EXPECT_EQ(cut_to("\u00e4\u00f6\u00fcx\n", 1, 3), "\u00e4\u00f6\u00fc\n");
    EXPECT_EQ(cut_to("", 3, 3), "");
}

std::string written_by(bool terminal, const std::vector<std::string>& texts) {
    char* bytes = nullptr;
    std::size_t size = 0;
    std::FILE* out = ::open_memstream(&bytes, &size);
    LiveText live(out, terminal);
    for (const std::string& text : texts) EXPECT_TRUE(live.draw(text));
    std::fclose(out);
    std::string written(bytes, size);
    std::free(bytes);
    return written;
}

TEST(LiveText, InAFileWhatIsNewIsWrittenBelowAndOnATerminalInItsPlace) {
    EXPECT_EQ(written_by(false, {"a\n", "a\n", "b\nc\n", "a\n"}), "a\nb\nc\na\n");
    EXPECT_EQ(written_by(true, {"a\n", "b\nc\n", "d\n"}), "a\n\x1b[1A\x1b[Jb\nc\n\x1b[2A\x1b[Jd\n");
}

}  // namespace
}  // namespace lockstep::prod
