// What each subcommand was asked to do, and the functions that do it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/cli.h"

namespace lockstep::sim::cli {

/// Which scenarios, under which seeds.
struct SelectionArgs {
    std::vector<std::string> paths;  // empty = scenarios/
    std::vector<std::string> filters;
    std::vector<std::string> tags;
    std::vector<std::string> overrides;
    std::vector<std::string> without;
    std::optional<std::uint64_t> seed;
    std::uint64_t seeds = 1;
    unsigned threads = 0;  // 0 = as many as there are processors
};

struct RunArgs {
    SelectionArgs selection;
    bool fail_fast = false;
    bool allow_vacuous = false;
    std::string junit;
    std::string json;  // a file, "-" for standard output, empty = none
    std::string trace;
};

struct ValidateArgs {
    std::vector<std::string> paths;
    bool json = false;
};

struct VerifyArgs {
    SelectionArgs selection;
    std::string write;
    std::string against;
};

struct ListArgs {
    std::string topic;  // empty = all
    bool json = false;
    bool schema = false;
};

[[nodiscard]] Exit run_command(const RunArgs& args, const Environment& environment);
[[nodiscard]] Exit validate_command(const ValidateArgs& args, const Environment& environment);
[[nodiscard]] Exit verify_command(const VerifyArgs& args, const Environment& environment);
[[nodiscard]] Exit list_command(const ListArgs& args, const Environment& environment);

/// The topics of `list`, for help and completion.
[[nodiscard]] const std::vector<std::string>& list_topics();

}  // namespace lockstep::sim::cli
