// A comparison as a table for spreadsheets and data frames.
#pragma once

#include <string>

#include "reports/compare/comparison.h"

namespace lockstep::reports {

/// One row per run and measure, as RFC 4180 quotes fields, lines ending in a line feed: variant, scenario, seed, digest, passed,
/// measure, unit, value. The value is exact (the shortest text that reads back the same) and empty where the run has none.
[[nodiscard]] std::string comparison_csv(const Comparison& comparison);

}  // namespace lockstep::reports
