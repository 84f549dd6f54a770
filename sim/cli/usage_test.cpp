// Completions and the manual page of lockstep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "reports/usage/test_walk.h"
#include "sim/cli/cli_fixture.h"
#include "sim/cli/parse.h"
#include "sim/cli/version.h"

namespace lockstep::sim::cli {
namespace {

using testing::Cli;
using ::testing::HasSubstr;

/// The words of a command, as a shell splits them; where its output goes and what is said about it are left out.
std::vector<std::string> words_of(std::string line) {
    line = line.substr(0, std::min({line.find(" | "), line.find(" > "), line.find("   ")}));
    std::vector<std::string> words(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '\'')
            quoted = !quoted;
        else if (c == ' ' && !quoted)
            words.emplace_back();
        else
            words.back() += c;
    }
    std::erase(words, "");
    return words;
}

/// The lines of a help that show a command of this program.
std::vector<std::string> examples_in(const std::string& help) {
    std::vector<std::string> out;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("  lockstep ")) out.push_back(line.substr(2));
    return out;
}

// C1: an example with an option that there is no more would be the first thing that somebody types.
TEST_F(Cli, EveryExampleInHelpIsUnderstood) {
    std::vector<std::string> commands = subcommands();
    // The help of another program, and words for options of this one.
    std::erase_if(commands,
                  [](const std::string& name) { return name == "dev" || name == "help" || name == "version"; });
    commands.emplace_back();
    for (const std::string& command : commands) {
        ASSERT_EQ(
            run(command.empty() ? std::vector<std::string>{"--help"} : std::vector{command, std::string("--help")}), 0);
        const auto examples = examples_in(out.str());
        EXPECT_FALSE(examples.empty() && command != "man" && command != "completion") << command << " shows none";
        for (const std::string& example : examples) {
            std::vector<std::string> words = words_of(example);
            words.erase(words.begin());
            if (words.front() == "dev") continue;
            const Parsed parsed = parse(words, {kVersion});
            const auto* refused = std::get_if<Print>(&parsed.command);
            EXPECT_FALSE(refused != nullptr && refused->exit != Exit::passed)
                << example << '\n'
                << (refused != nullptr ? refused->text : "");
        }
    }
}

// C9, C10
TEST_F(Cli, CompletionsAndTheManualPageTellOfTheWholeParser) {
    look_at_parser([](const usage::Command& app) {
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
