// The options of each subcommand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/usage/command.h"
#include "sim/cli/options/args.h"

namespace lockstep::sim::cli {

// Each adds its subcommand below `app`, which owns it. Parsing writes to `args`, which must live as long as `app`; what is not
// named on the command line keeps the value that it had.
usage::Command add_run(const usage::Command& app, RunArgs& args);
usage::Command add_new(const usage::Command& app, NewArgs& args);
usage::Command add_validate(const usage::Command& app, ValidateArgs& args);
usage::Command add_verify(const usage::Command& app, VerifyArgs& args);
usage::Command add_explore(const usage::Command& app, ExploreArgs& args);
usage::Command add_enumerate(const usage::Command& app, EnumerateArgs& args);
usage::Command add_coverage(const usage::Command& app, CoverageArgs& args);
usage::Command add_outputs(const usage::Command& app, OutputsArgs& args);
usage::Command add_compare(const usage::Command& app, CompareArgs& args);
usage::Command add_shrink(const usage::Command& app, ShrinkArgs& args);
usage::Command add_replay(const usage::Command& app, ReplayArgs& args);
usage::Command add_explain(const usage::Command& app, ExplainArgs& args);
usage::Command add_list(const usage::Command& app, ListArgs& args);
usage::Command add_completion(const usage::Command& app, std::string& shell);
usage::Command add_manual(const usage::Command& app);

/// The script that completes every subcommand of `app` and its options. REQUIRES: `shell` is one that add_completion takes.
[[nodiscard]] std::string completion_of(const usage::Command& app, const std::string& shell);
/// What man(1) shows.
[[nodiscard]] std::string manual_of(const usage::Command& app, const std::string& version);

// Options that several subcommands have in common, by the same rules.
/// Of the program, for every subcommand.
void add_talk(const usage::Command& app, TalkArgs& args);
/// `changes`: the scenarios can also be changed, by --set and --without.
void add_selection(const usage::Command& app, SelectionArgs& args, bool changes);
void add_set(const usage::Command& app, std::vector<std::string>& overrides);
void add_without(const usage::Command& app, std::vector<std::string>& names);
void add_shard(const usage::Command& app, Shard& shard, const char* description);
void add_threads(const usage::Command& app, unsigned& threads);
void add_recorded_by(const usage::Command& app, std::string& build);
/// One JSON document on standard output; everything else goes to standard error.
void add_json(const usage::Command& app, bool& json);
/// Any number of 64 bits; every other text is refused.
usage::Option add_number(const usage::Command& app, const std::string& name, std::function<void(std::uint64_t)> take,
                         const std::string& description);
void add_seed(const usage::Command& app, std::optional<std::uint64_t>& seed,
              const char* description = "seed instead of that of the file");

}  // namespace lockstep::sim::cli
