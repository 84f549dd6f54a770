#include "sim/cli/surroundings.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep::sim::cli {
namespace {

Surroundings around(const std::map<std::string, std::string>& variables, Terminals terminals = {}) {
    return surroundings(
        [&](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        terminals);
}

TEST(SurroundingsTest, ASummaryIsWantedWhereActionsAndItsFileAreBothNamed) {
    EXPECT_EQ(around({{"GITHUB_ACTIONS", "true"}, {"GITHUB_STEP_SUMMARY", "/tmp/step.md"}}).step_summary,
              "/tmp/step.md");
    EXPECT_EQ(around({{"GITHUB_ACTIONS", "true"}}).step_summary, "");
    EXPECT_EQ(around({{"GITHUB_ACTIONS", "false"}, {"GITHUB_STEP_SUMMARY", "/tmp/step.md"}}).step_summary, "");
    EXPECT_EQ(around({{"GITHUB_STEP_SUMMARY", "/tmp/step.md"}}).step_summary, "");
    EXPECT_EQ(around({}).step_summary, "");
}

// C6
TEST(SurroundingsTest, ColoursAreForTerminalsOfPeopleWhoWantThem) {
    constexpr Terminals kTerminal{.out = true};
    EXPECT_TRUE(around({{"TERM", "xterm"}}, kTerminal).colour);
    EXPECT_TRUE(around({{"TERM", "xterm"}, {"NO_COLOR", ""}}, kTerminal).colour);
    EXPECT_FALSE(around({{"TERM", "xterm"}, {"NO_COLOR", "1"}}, kTerminal).colour);
    EXPECT_FALSE(around({{"TERM", "dumb"}}, kTerminal).colour);
    EXPECT_FALSE(around({}, kTerminal).colour);
    EXPECT_FALSE(around({{"TERM", "xterm"}}).colour);
    EXPECT_TRUE(around({{"CLICOLOR_FORCE", "1"}}).colour);
    EXPECT_FALSE(around({{"CLICOLOR_FORCE", "0"}}).colour);
    EXPECT_FALSE(around({{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}, kTerminal).colour);
}

// C7
TEST(SurroundingsTest, ProgressIsDrawnOnATerminalLinesInALogAndNothingInCi) {
    constexpr Terminals kTerminal{.err = true};
    EXPECT_EQ(around({{"TERM", "xterm"}}, kTerminal).watcher, Watcher::Kind::terminal);
    EXPECT_EQ(around({{"TERM", "dumb"}}, kTerminal).watcher, Watcher::Kind::log);
    EXPECT_EQ(around({{"TERM", "xterm"}}, {.out = true}).watcher, Watcher::Kind::log);
    EXPECT_EQ(around({{"TERM", "xterm"}, {"CI", "true"}}, kTerminal).watcher, Watcher::Kind::nobody);
    EXPECT_EQ(around({{"CI", "1"}}).watcher, Watcher::Kind::nobody);
    EXPECT_EQ(around({{"CI", "false"}}).watcher, Watcher::Kind::log);
}

}  // namespace
}  // namespace lockstep::sim::cli
