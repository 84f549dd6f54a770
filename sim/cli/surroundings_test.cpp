#include "sim/cli/surroundings.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep::sim::cli {
namespace {

Surroundings around(const std::map<std::string, std::string>& variables, bool terminal = false) {
    return surroundings(
        [&](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        terminal);
}

TEST(SurroundingsTest, ASummaryIsWantedWhereActionsAndItsFileAreBothNamed) {
    EXPECT_EQ(around({{"GITHUB_ACTIONS", "true"}, {"GITHUB_STEP_SUMMARY", "/tmp/step.md"}}).step_summary,
              "/tmp/step.md");
    EXPECT_EQ(around({{"GITHUB_ACTIONS", "true"}}).step_summary, "");
    EXPECT_EQ(around({{"GITHUB_ACTIONS", "false"}, {"GITHUB_STEP_SUMMARY", "/tmp/step.md"}}).step_summary, "");
    EXPECT_EQ(around({{"GITHUB_STEP_SUMMARY", "/tmp/step.md"}}).step_summary, "");
    EXPECT_EQ(around({}).step_summary, "");
}

TEST(SurroundingsTest, ColoursAreForTerminalsOfPeopleWhoWantThem) {
    EXPECT_TRUE(around({{"TERM", "xterm"}}, true).colour);
    EXPECT_TRUE(around({{"TERM", "xterm"}, {"NO_COLOR", ""}}, true).colour);
    EXPECT_FALSE(around({{"TERM", "xterm"}, {"NO_COLOR", "1"}}, true).colour);
    EXPECT_FALSE(around({{"TERM", "dumb"}}, true).colour);
    EXPECT_FALSE(around({}, true).colour);
    EXPECT_FALSE(around({{"TERM", "xterm"}}, false).colour);
}

}  // namespace
}  // namespace lockstep::sim::cli
