// The options of each subcommand. With the rest of this folder and parse.cpp, the only place that knows the parser library.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/options/args.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep::sim::cli {

// Each adds its subcommand below `app`, which owns it. Parsing writes to `args`, which must live as long as `app`; what is not
// named on the command line keeps the value that it had.
CLI::App* add_run(CLI::App& app, RunArgs& args);
CLI::App* add_validate(CLI::App& app, ValidateArgs& args);
CLI::App* add_verify(CLI::App& app, VerifyArgs& args);
CLI::App* add_explore(CLI::App& app, ExploreArgs& args);
CLI::App* add_enumerate(CLI::App& app, EnumerateArgs& args);
CLI::App* add_power(CLI::App& app, PowerArgs& args);
CLI::App* add_coverage(CLI::App& app, CoverageArgs& args);
CLI::App* add_compare(CLI::App& app, CompareArgs& args);
CLI::App* add_shrink(CLI::App& app, ShrinkArgs& args);
CLI::App* add_replay(CLI::App& app, ReplayArgs& args);
CLI::App* add_explain(CLI::App& app, ExplainArgs& args);
CLI::App* add_list(CLI::App& app, ListArgs& args);
CLI::App* add_completion(CLI::App& app, std::string& shell);
CLI::App* add_manual(CLI::App& app);

/// The script that completes every subcommand of `app` and its options. REQUIRES: `shell` is one that add_completion takes.
[[nodiscard]] std::string completion_of(const CLI::App& app, const std::string& shell);
/// What man(1) shows.
[[nodiscard]] std::string manual_of(const CLI::App& app, const std::string& version);

// Options that several subcommands have in common, by the same rules.
/// Of the program, for every subcommand.
void add_talk(CLI::App& app, TalkArgs& args);
/// `changes`: the scenarios can also be changed, by --set and --without.
void add_selection(CLI::App& app, SelectionArgs& args, bool changes);
void add_set(CLI::App& app, std::vector<std::string>& overrides);
void add_without(CLI::App& app, std::vector<std::string>& names);
void add_shard(CLI::App& app, Shard& shard, const char* description);
void add_threads(CLI::App& app, unsigned& threads);
void add_recorded_by(CLI::App& app, std::string& build);
/// One JSON document on standard output; everything else goes to standard error.
void add_json(CLI::App& app, bool& json);
/// Any number of 64 bits; every other text is refused.
CLI::Option* add_number(CLI::App& app, const std::string& name, std::function<void(std::uint64_t)> take,
                        const std::string& description);
void add_seed(CLI::App& app, std::optional<std::uint64_t>& seed,
              const char* description = "seed instead of that of the file");

}  // namespace lockstep::sim::cli
