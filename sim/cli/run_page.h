// Writes the page and the picture of one recorded run, for `explain` and `run`.
#pragma once

#include <string>

#include "sim/cli/cli.h"

namespace lockstep::sim::cli {

/// False, and a sentence on `err`, when the run was not recorded to its end or the file cannot be written.
[[nodiscard]] bool write_page(const std::string& path, const RunResult& result, const std::string& replay,
                              const Environment& environment);

/// The same of the picture of one job. REQUIRES: `result.history`.
[[nodiscard]] bool write_picture(const std::string& path, const RunResult& result, const std::string& job,
                                 const Environment& environment);

}  // namespace lockstep::sim::cli
