// Several failure files at once, as a suite of what must not come back: a folder of them in CI.
#pragma once

#include "sim/cli/cli.h"
#include "sim/cli/options/args.h"

namespace lockstep::sim::cli {

/// Makes the run of each failure file of the paths again. Of a folder these are the *.json below it that are failure files. Nothing runs
/// where a named file is none. `violated`: one fails still, in whatever way.
[[nodiscard]] Exit replay_suite(const ReplayArgs& args, const Environment& environment);

}  // namespace lockstep::sim::cli
