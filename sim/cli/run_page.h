// Writes the page of one recorded run: what `explain --html` and `run --html` have in common.
#pragma once

#include <string>

#include "sim/cli/cli.h"

namespace lockstep::sim::cli {

/// False, and a sentence on `err`, when the run was not recorded to its end or the file cannot be written.
[[nodiscard]] bool write_page(const std::string& path, const RunResult& result, const std::string& replay,
                              const Environment& environment);

}  // namespace lockstep::sim::cli
