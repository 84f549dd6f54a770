// The build of the program, as replay lines and files name it, and what is said to whoever replays with another one.
#pragma once

#include <cstdint>
#include <string>

#include "reports/usage/version_flag.h"
#include "sim/cli/cli.h"

namespace lockstep::sim::cli {

[[nodiscard]] usage::Build build_of(const Environment& environment);
/// Its name.
[[nodiscard]] std::string build_name(const Environment& environment);

/// The first line of a trace: what makes the run again, and which build made it.
[[nodiscard]] std::string heading_of_trace(const std::string& name, std::uint64_t seed, const std::string& build,
                                           const std::string& replay);

/// Says on `err` that `what` is of another build, if it is: it may fail all the same. Nothing where the build is not known.
void note_other_build(const std::string& what, const std::string& recorded_by, const Environment& environment);

}  // namespace lockstep::sim::cli
