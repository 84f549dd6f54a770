// Completions and the manual page of lockstep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cli/cli_fixture.h"
#include "sim/cli/parse.h"
#include "reports/usage/test_walk.h"

namespace lockstep::sim::cli {
namespace {

using testing::Cli;
using ::testing::HasSubstr;

// C9, C10
TEST_F(Cli, CompletionsAndTheManualPageTellOfTheWholeParser) {
    look_at_parser([](const CLI::App& app) {
        EXPECT_GT(usage::testing::walk(app).size(), 13U);
        usage::testing::expect_bash_covers(app);
        usage::testing::expect_zsh_and_fish_cover(app);
        usage::testing::expect_manual_covers(app);
    });
    for (const auto& [shell, says] : {std::pair{"bash", "complete -o filenames -F _lockstep lockstep"},
                                      {"zsh", "#compdef lockstep"},
                                      {"fish", "complete -c lockstep"}}) {
        EXPECT_EQ(run({"completion", shell}), 0);
        EXPECT_THAT(out.str(), HasSubstr(says));
    }
    EXPECT_EQ(run({"man"}), 0);
    EXPECT_THAT(out.str(), HasSubstr(".TH LOCKSTEP 1"));
}

}  // namespace
}  // namespace lockstep::sim::cli
