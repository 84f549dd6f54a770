// The command line as a tree of subcommands and options, each of which stands in options/.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "reports/usage/command.h"
#include "reports/usage/version_flag.h"
#include "sim/cli/cli.h"
#include "sim/cli/options/args.h"

namespace lockstep::sim::cli {

/// Nothing to run: print this and end.
struct Print {
    std::string text;
    bool to_err = false;
    Exit exit = Exit::passed;
};

using Command = std::variant<Print, RunArgs, ValidateArgs, VerifyArgs, ExploreArgs, EnumerateArgs, CoverageArgs,
                             OutputsArgs, CompareArgs, ShrinkArgs, ReplayArgs, ExplainArgs, ListArgs, NewArgs>;

struct Parsed {
    Command command;
    TalkArgs talk{};
};

/// `build`: what `--version` says.
[[nodiscard]] Parsed parse(const std::vector<std::string>& args, const usage::Build& build);

/// Calls `look` with the whole parser, which is gone afterwards.
void look_at_parser(const std::function<void(const usage::Command&)>& look);

/// Every subcommand of this program.
[[nodiscard]] std::vector<std::string> subcommands();

}  // namespace lockstep::sim::cli
