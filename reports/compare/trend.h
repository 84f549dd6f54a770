// How the measures of a comparison have gone over the results that were kept of it before. For a look: whether it has become worse is for
// the gate to say (gate.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/compare/pictures.h"
#include "reports/compare/verdict.h"

namespace lockstep::reports {

/// What `now` keeps of an earlier result: its variants and measures are found by their names.
[[nodiscard]] EarlierResult earlier_result(const Comparison& earlier, const Comparison& now, std::string label);

/// A picture for each objective, and for each guard that was not the same all the time; none without a history. Its table has a row for
/// each result, the last being today's.
[[nodiscard]] std::vector<Picture> trend_pictures(const Comparison& comparison, const Analysis& analysis);

}  // namespace lockstep::reports
