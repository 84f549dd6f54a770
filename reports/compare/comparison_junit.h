// A comparison's limits, and the gate's thresholds, as JUnit XML: what CI systems show.
#pragma once

#include <string>

#include "reports/compare/comparison.h"
#include "reports/compare/gate.h"
#include "reports/compare/verdict.h"

namespace lockstep::reports {

/// A suite per variant, in it a case for its runs and one for each limit. A failed run, a broken limit and one that is not shown
/// to hold are failures; runs that are missing are an error of a suite of its own.
[[nodiscard]] std::string comparison_junit(const Comparison& comparison, const Analysis& analysis);

/// A suite per variant, a case per measure. Worse and not settled are failures; a baseline that cannot be compared is an error.
[[nodiscard]] std::string gate_junit(const GateResult& result);

}  // namespace lockstep::reports
