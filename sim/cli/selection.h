// Which scenarios a command line names, loaded and checked; all of them before the first one runs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/commands.h"
#include "sim/cli/verdict.h"
#include "sim/run/sweep.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim::cli {

struct Selection {
    std::vector<Scenario> scenarios;  // one that proves something is followed by its counterexample
    std::vector<PlannedRun> plan;
    /// Those with runs in another part (`--shard`): what they leave unproved here may be proved there.
    std::set<std::size_t> shared_out{};
    /// Of each --tag and --filter that no scenario has: a sentence.
    std::vector<std::string> unmatched{};
};

/// Nothing when an input was wrong: everything that was wrong has been said on `err` then, and to CI as of `command`.
[[nodiscard]] std::optional<Selection> select(const SelectionArgs& args, const std::string& command,
                                              const Environment& environment);

/// What is wrong with an input, for the page of a CI system.
[[nodiscard]] Verdict wrong_input(const std::string& command, const std::vector<LoadError>& errors);

/// Loads every file below the paths (default scenarios/). The errors of all files together.
[[nodiscard]] Loaded<std::vector<Scenario>> load_all(const std::vector<std::string>& paths,
                                                     const LoadOptions& options = {});

/// The line to paste that makes exactly this run again, under a subcommand that takes a selection. It ends with the build that
/// made the run (build_name.h).
[[nodiscard]] std::string replay_command(const Scenario& scenario, std::uint64_t seed, const SelectionArgs& args,
                                         const std::string& build, std::string_view subcommand = "run");

/// Whether every name is a mechanism that can be switched off; says on `err` which is not.
[[nodiscard]] bool mechanisms_known(const std::vector<std::string>& names, const Environment& environment);

/// As one word of a POSIX shell.
[[nodiscard]] std::string shell_quoted(const std::string& word);

[[nodiscard]] unsigned threads_of(const SelectionArgs& args, const Environment& environment);

}  // namespace lockstep::sim::cli
