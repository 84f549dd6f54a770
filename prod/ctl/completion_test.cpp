// Completions and the manual page of lockstepctl.
#include <gtest/gtest.h>

#include "prod/ctl/parser.h"
#include "reports/usage/test_walk.h"

namespace lockstep::prod {
namespace {

// C9
TEST(CompletionTest, InBashCoversEveryCommandAndEveryOptionOfTheParser) {
    Parser parser;
    EXPECT_GT(usage::testing::walk(parser.app()).size(), 30U);
    usage::testing::expect_bash_covers(parser.app());
}

// C9
TEST(CompletionTest, InBashOffersTheWordsOfAnArgumentAndFindsItsWayPastOptions) {
    Parser parser;
    const auto offered = usage::testing::offered_by_bash(
        parser.app(), {"lockstepctl completion ''", "lockstepctl --json dlq --redis x list --l",
                       "lockstepctl submit --topic list --publ", "lockstepctl dlq show --"});
    ASSERT_EQ(offered.size(), 4U);
    EXPECT_EQ(offered[0], " bash zsh fish ");
    EXPECT_EQ(offered[1], " --limit ");
    EXPECT_EQ(offered[2], " --publish-only ");
    EXPECT_NE(offered[3].find(" --json "), std::string::npos) << "options of the program count at every command";
}

// C9
TEST(CompletionTest, InZshAndFishNamesEveryOptionOfEveryCommand) {
    Parser parser;
    usage::testing::expect_zsh_and_fish_cover(parser.app());
}

// C10
TEST(CompletionTest, TheManualPageTellsOfEveryCommandAndOptionAndIsWellFormed) {
    Parser parser;
    usage::testing::expect_manual_covers(parser.app());
}

}  // namespace
}  // namespace lockstep::prod
