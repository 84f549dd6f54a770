// The command line as a tree of subcommands and options, each of which stands in options/.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sim/cli/cli.h"
#include "sim/cli/options/args.h"

namespace lockstep::sim::cli {

/// Nothing to run: print this and end.
struct Print {
    std::string text;
    bool to_err = false;
    Exit exit = Exit::passed;
};

using Command = std::variant<Print, RunArgs, ValidateArgs, VerifyArgs, ExploreArgs, EnumerateArgs, PowerArgs,
                             CoverageArgs, CompareArgs, ShrinkArgs, ReplayArgs, ExplainArgs, ListArgs>;

[[nodiscard]] Command parse(const std::vector<std::string>& args);

/// Every subcommand of this program.
[[nodiscard]] std::vector<std::string> subcommands();

}  // namespace lockstep::sim::cli
