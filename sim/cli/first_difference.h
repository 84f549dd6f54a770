// Where two runs that should have been one part: the first event that differs, with what each run made of it.
#pragma once

#include <functional>
#include <string>

#include "sim/run/result.h"

namespace lockstep::sim::cli {

/// One of the two runs of a pair, made again. `first` is the one that nothing disturbs.
using RunAgain = std::function<RunResult(bool first, const Recording&)>;

/// Makes the pair twice again, once for the number of the event and once for the event, and returns several lines, indented by two. Says
/// so when the runs agree from now on, which is a difference all the same, only a rare one.
[[nodiscard]] std::string first_difference(const RunAgain& run);

}  // namespace lockstep::sim::cli
