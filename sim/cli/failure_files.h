// The failure files that `run` writes when it is asked to: one for each kind of failure, of those that look alike the shortest,
// as `explore` does. Not unasked: a run in CI leaves nothing behind.
#pragma once

#include <string>

#include "sim/cli/cli.h"
#include "sim/cli/selection.h"

namespace lockstep::sim::cli {

/// Names each file in a line on `out` if `talk`. False, with a sentence on `err`, when one cannot be written. What fails as a
/// counterexample has no failure file: it is the file as it stands that is wrong, and `run` shows it.
[[nodiscard]] bool write_failures(const std::string& folder, const Selection& selection, const SweepOutcome& outcome,
                                  const SelectionArgs& args, const Environment& environment, bool talk);

/// Without what a file name should not have.
[[nodiscard]] std::string as_file_name(std::string name);

}  // namespace lockstep::sim::cli
