#include "sim/cli/under_way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cli/cli_fixture.h"

namespace lockstep::sim::cli {
namespace {

using testing::Cli;
using ::testing::HasSubstr;
using ::testing::Not;

// C8
TEST_F(Cli, WhoAsksIsToldWhatRunsAndHowFarItIs) {
    std::vector<std::string> told;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        options.passed(3'500);
        told.push_back(answer());
        return seed == 8 ? bad(of, seed, options) : good(of, seed, options);
    };
    EXPECT_EQ(run({"run", path("a.json"), "--seeds", "3", "-j", "1"}), 1);
    ASSERT_EQ(told.size(), 3U);
    EXPECT_THAT(told[0], HasSubstr("lockstep: 0 of 3 runs made in "));
    EXPECT_THAT(told[0], HasSubstr(", 3.5s of its own time: alpha seed 7\n"));
    EXPECT_THAT(told[2], HasSubstr("lockstep: 2 of 3 runs made in "));
    EXPECT_THAT(told[2], HasSubstr(", 1 failed; 20 events, "));
    EXPECT_THAT(told[2], HasSubstr(": alpha seed 9\n"));
    EXPECT_THAT(told[2], Not(HasSubstr("seed 8")));
    EXPECT_FALSE(answer) << "nothing runs any more";

    told.clear();
    EXPECT_EQ(run({"explore", "--seeds", "2", "-j", "1", "--out", path("out")}), 0) << out.str();
    ASSERT_EQ(told.size(), 2U);
    EXPECT_THAT(told[1], HasSubstr("lockstep: 1 of 2 runs made in "));
    EXPECT_THAT(told[1], HasSubstr(", 0 failed; 10 events, "));
    EXPECT_THAT(told[1], HasSubstr(": draw 2\n"));
    EXPECT_FALSE(answer);
}

TEST_F(Cli, WhoAsksIsToldByEveryCommandThatMakesRuns) {
    std::string told;
    runner = [&](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        if (options.passed) options.passed(120'000);
        told = answer ? answer() : "nobody answers";
        RunResult result = bad(of, seed, options);
        result.history = std::make_shared<History>();
        return result;
    };
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"verify-determinism", path("a.json"), "-j", "1"},
             {"enumerate", path("a.json"), "-j", "1", "--out", path("out")},
             {"power", path("a.json"), "--mechanism", "job_lock", "--seeds", "1", "--no-shrink", "-j", "1"},
             {"coverage", "--seeds", "1", "-j", "1"},
             {"compare", path("a.json"), "--vary", "bus_ack_wait=30s,5s", "--seeds", "1", "-j", "1"},
             {"shrink", path("a.json"), "--max-runs", "2"}}) {
        told.clear();
        (void)run(args);
        EXPECT_THAT(told, HasSubstr(" runs made in ")) << args[0] << ": " << err.str();
        EXPECT_THAT(told, HasSubstr("\n  runs for ")) << args[0];
        EXPECT_THAT(told, HasSubstr("2m00s of its own time")) << args[0];
        EXPECT_FALSE(answer) << args[0] << ": nothing runs any more";
    }
}

}  // namespace
}  // namespace lockstep::sim::cli
