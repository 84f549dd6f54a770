// Completions and the manual page of any program, held against the parser that they are made from.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "reports/usage/completion.h"
#include "reports/usage/manual.h"

namespace lockstep::usage::testing {

struct Walked {
    std::string words;  // of the path, with a blank between; empty: the program
    std::vector<std::string> names, subcommands;
};

/// Every command, read off the parser and not off what completions are made from.
inline std::vector<Walked> walk(const Command& command, const std::string& words = {}) {
    std::vector<Walked> all{{words, command.option_names(), {}}};
    for (const Command& child : command.subcommands()) {
        all.front().subcommands.push_back(child.name());
        for (auto& below : walk(child, words.empty() ? child.name() : words + " " + child.name()))
            all.push_back(std::move(below));
    }
    return all;
}

/// What bash offers for each of these command lines, a line each with a blank at both ends; it completes the last word.
inline std::vector<std::string> offered_by_bash(const Command& app, const std::vector<std::string>& lines) {
    const auto folder = std::filesystem::temp_directory_path() / fmt::format("completion-{}", ::getpid());
    std::filesystem::create_directory(folder);
    std::ofstream script(folder / "ask.bash");
    script << completion_script(app, Shell::bash);
    for (const std::string& line : lines)
        script << fmt::format("COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); COMPREPLY=(); _{}\n", line,
                              app.name())
               << "echo \" ${COMPREPLY[*]} \"\n";
    script.close();
    std::string told;
    if (FILE* pipe = ::popen(fmt::format("cd '{0}' && bash '{0}/ask.bash' 2>&1", folder.string()).c_str(), "r")) {
        std::array<char, 4096> bytes;
        for (std::size_t n = 0; (n = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
            told.append(bytes.data(), n);
        ::pclose(pipe);
    }
    std::filesystem::remove_all(folder);
    std::istringstream in(told);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

inline void expect_bash_covers(const Command& app) {
    const auto commands = walk(app);
    std::vector<std::string> lines;
    for (const auto& command : commands) {
        lines.push_back(fmt::format("{} {} -", app.name(), command.words));
        lines.push_back(fmt::format("{} {} ''", app.name(), command.words));
    }
    const auto offered = offered_by_bash(app, lines);
    ASSERT_EQ(offered.size(), lines.size());
    for (std::size_t i = 0; i < commands.size(); ++i) {
        for (const auto& name : commands[i].names)
            EXPECT_NE(offered[2 * i].find(" " + name + " "), std::string::npos) << commands[i].words << " " << name;
        for (const auto& name : commands[i].subcommands)
            EXPECT_NE(offered[2 * i + 1].find(" " + name + " "), std::string::npos) << commands[i].words << " " << name;
    }
}

inline void expect_zsh_and_fish_cover(const Command& app) {
    const std::string zsh = completion_script(app, Shell::zsh);
    const std::string fish = completion_script(app, Shell::fish);
    for (const auto& command : walk(app)) {
        const std::string at =
            command.words.empty() ? "    '') found=(" : fmt::format("    ' {}') found=(", command.words);
        const auto begin = zsh.find(at);
        ASSERT_NE(begin, std::string::npos) << command.words;
        const std::string line = zsh.substr(begin, zsh.find('\n', begin) - begin);
        const std::string there = fmt::format("'__{}_at \"{}\"'", app.name(), command.words);
        for (const auto& name : command.names) {
            EXPECT_NE(line.find("'" + name + ":"), std::string::npos) << command.words << " " << name;
            const std::string as_fish = name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            bool found = false;
            std::istringstream lines(fish);
            for (std::string one; std::getline(lines, one);)
                found = found ||
                        (one.find(there) != std::string::npos && (one + " ").find(as_fish + " ") != std::string::npos);
            EXPECT_TRUE(found) << command.words << " " << name;
        }
    }
}

inline void expect_manual_covers(const Command& app) {
    const std::string page = manual_page(app, "9.9");
    const auto escaped = [](std::string text) {
        for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\-");
        return text;
    };
    for (const auto& command : walk(app)) {
        for (const std::string& name : command.names)
            if (name != "--help" && name != "-h")
                EXPECT_NE(page.find(escaped(name)), std::string::npos) << command.words << " " << name;
        if (!command.words.empty())
            EXPECT_NE(page.find(escaped(fmt::format(".SS \\fB{} {}", app.name(), command.words))), std::string::npos)
                << command.words;
    }
    EXPECT_NE(page.find("Exit codes"), std::string::npos);
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("."))
            EXPECT_NE(std::string(".TH .SH .SS .TP .B .PP .nf .fi").find(line.substr(0, 3)), std::string::npos) << line;
}

}  // namespace lockstep::usage::testing
