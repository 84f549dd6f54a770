// The functions that do what a subcommand was asked to.
#pragma once

#include "sim/cli/cli.h"
#include "sim/cli/options/args.h"

namespace lockstep::sim::cli {

[[nodiscard]] Exit run_command(const RunArgs& args, const Environment& environment);
[[nodiscard]] Exit new_command(const NewArgs& args, const Environment& environment);
[[nodiscard]] Exit validate_command(const ValidateArgs& args, const Environment& environment);
[[nodiscard]] Exit verify_command(const VerifyArgs& args, const Environment& environment);
[[nodiscard]] Exit explore_command(const ExploreArgs& args, const Environment& environment);
[[nodiscard]] Exit enumerate_command(const EnumerateArgs& args, const Environment& environment);
[[nodiscard]] Exit coverage_command(const CoverageArgs& args, const Environment& environment);
[[nodiscard]] Exit outputs_command(const OutputsArgs& args, const Environment& environment);
[[nodiscard]] Exit compare_command(const CompareArgs& args, const Environment& environment);
[[nodiscard]] Exit shrink_command(const ShrinkArgs& args, const Environment& environment);
[[nodiscard]] Exit replay_failure_command(const ReplayArgs& args, const Environment& environment);
[[nodiscard]] Exit explain_command(const ExplainArgs& args, const Environment& environment);
[[nodiscard]] Exit list_command(const ListArgs& args, const Environment& environment);

}  // namespace lockstep::sim::cli
