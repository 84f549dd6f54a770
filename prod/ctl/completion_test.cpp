// Completions and the manual page, held against the parser that they are made from.
#include "prod/ctl/completion.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "prod/ctl/command_outline.h"
#include "prod/ctl/manual.h"
#include "prod/ctl/parser.h"

namespace lockstep::prod {
namespace {

/// What a program prints, by the shell.
std::string output_of(const std::string& command) {
    std::string out;
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return out;
    std::array<char, 4096> bytes;
    for (std::size_t n = 0; (n = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) out.append(bytes.data(), n);
    ::pclose(pipe);
    return out;
}

class CompletionTest : public ::testing::Test {
protected:
    CompletionTest() : folder_(std::filesystem::temp_directory_path() / fmt::format("completion-{}", ::getpid())) {
        std::filesystem::create_directory(folder_);
    }
    ~CompletionTest() override { std::filesystem::remove_all(folder_); }

    /// What bash offers for each of these command lines, a line each; it completes the last word.
    std::vector<std::string> offered_by_bash(const std::vector<std::string>& lines) {
        std::ofstream script(folder_ / "ask.bash");
        script << completion_script(parser.app(), Shell::bash);
        for (const std::string& line : lines)
            script << fmt::format(
                          "COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); COMPREPLY=(); _lockstepctl\n", line)
                   << "echo \" ${COMPREPLY[*]} \"\n";
        script.close();
        std::istringstream told(output_of(fmt::format("cd '{0}' && bash '{0}/ask.bash' 2>&1", folder_.string())));
        std::vector<std::string> out;
        for (std::string line; std::getline(told, line);) out.push_back(line);
        return out;
    }

    Parser parser;

private:
    std::filesystem::path folder_;
};

// C9
TEST_F(CompletionTest, InBashCoversEveryCommandAndEveryOptionOfTheParser) {
    const auto commands = outline_commands(parser.app());
    ASSERT_GT(commands.size(), 30U);
    std::vector<std::string> lines;
    for (const auto& command : commands) {
        lines.push_back(fmt::format("lockstepctl {} -", command.words()));
        lines.push_back(fmt::format("lockstepctl {} ''", command.words()));
    }
    const auto offered = offered_by_bash(lines);
    ASSERT_EQ(offered.size(), lines.size());
    for (std::size_t i = 0; i < commands.size(); ++i) {
        for (const auto& option : commands[i].options)
            for (const auto& name : option.names)
                EXPECT_NE(offered[2 * i].find(" " + name + " "), std::string::npos)
                    << commands[i].words() << " " << name;
        EXPECT_NE(offered[2 * i].find(" --json "), std::string::npos) << commands[i].words();
        for (const auto& name : commands[i].subcommands)
            EXPECT_NE(offered[2 * i + 1].find(" " + name + " "), std::string::npos)
                << commands[i].words() << " " << name;
    }
}

// C9
TEST_F(CompletionTest, InBashOffersTheWordsOfAnArgumentAndFindsItsWayPastOptions) {
    const auto offered = offered_by_bash({"lockstepctl completion ''", "lockstepctl --json dlq --redis x list --l",
                                          "lockstepctl submit --topic list --publ"});
    ASSERT_EQ(offered.size(), 3U);
    for (const char* shell : {" bash ", " zsh ", " fish "})
        EXPECT_NE(offered[0].find(shell), std::string::npos) << offered[0];
    EXPECT_EQ(offered[1], " --limit ");
    EXPECT_EQ(offered[2], " --publish-only ");
}

// C9
TEST_F(CompletionTest, InZshAndFishNamesEveryOptionOfEveryCommand) {
    const std::string zsh = completion_script(parser.app(), Shell::zsh);
    const std::string fish = completion_script(parser.app(), Shell::fish);
    for (const auto& command : outline_commands(parser.app())) {
        const std::string at =
            command.path.empty() ? "    '') found=(" : fmt::format("    ' {}') found=(", command.words());
        const auto begin = zsh.find(at);
        ASSERT_NE(begin, std::string::npos) << command.words();
        const std::string line = zsh.substr(begin, zsh.find('\n', begin) - begin);
        for (const auto& option : command.options) {
            for (const auto& name : option.names) {
                EXPECT_NE(line.find("'" + name + ":"), std::string::npos) << command.words() << " " << name;
                const std::string there = fmt::format("'__lockstepctl_at \"{}\"'", command.words());
                const std::string as_fish = name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
                bool found = false;
                std::istringstream lines(fish);
                for (std::string one; std::getline(lines, one);)
                    found = found || (one.find(there) != std::string::npos &&
                                      (one + " ").find(as_fish + " ") != std::string::npos);
                EXPECT_TRUE(found) << command.words() << " " << name;
            }
        }
    }
}

// C10
TEST_F(CompletionTest, TheManualPageTellsOfEveryCommandAndOptionAndIsWellFormed) {
    const std::string page = manual_page(parser.app(), "9.9");
    for (const auto& command : outline_commands(parser.app())) {
        for (const auto& option : command.options)
            for (std::string name : option.names) {
                if (name == "--help") continue;
                for (std::size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2)
                    name.replace(at, 1, "\\-");
                EXPECT_NE(page.find(name), std::string::npos) << command.words() << " " << name;
            }
        if (!command.path.empty())
            EXPECT_NE(page.find(".SS \\fBlockstepctl " + command.path.front()), std::string::npos) << command.words();
    }
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("."))
            EXPECT_TRUE(std::string(".TH .SH .SS .TP .B .PP .nf .fi").find(line.substr(0, 3)) != std::string::npos)
                << line;
}

}  // namespace
}  // namespace lockstep::prod
