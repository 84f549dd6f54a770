// What a command line offers, read off the parser: the one source of completions and manual pages.
#pragma once

#include <string>
#include <vector>

#include "reports/usage/command.h"

namespace lockstep::usage {

struct OutlinedOption {
    std::vector<std::string> names;  // with their dashes; empty: an argument by its place
    std::string place;               // the name of such an argument
    std::string help;
    std::string standard;              // what holds when it is not given; empty: not told
    std::vector<std::string> choices;  // the words that it takes; empty: any
    bool takes_value = false;
    bool value_is_optional = false;
    bool required = false;
};

struct OutlinedCommand {
    std::vector<std::string> path;  // without the program; empty: the program itself
    std::string help;
    std::string footer;
    std::vector<OutlinedOption> options;  // what the program takes anywhere stands with the program alone
    std::vector<std::string> subcommands;
    bool needs_subcommand = false;

    /// The words of the path with a blank between.
    [[nodiscard]] std::string words() const;
};

/// The program first, then every command before what is below it, in the order of the parser.
[[nodiscard]] std::vector<OutlinedCommand> outline_commands(const Command& program);

}  // namespace lockstep::usage
