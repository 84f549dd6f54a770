// A run report as the JSON document of `lockstep run --json`. Fields are only ever added within a version.
#pragma once

#include <string>

#include "reports/run_report.h"

namespace lockstep::reports {

inline constexpr int kResultJsonVersion = 1;

/// One document, indented, ending in a newline. Keys are sorted, broken UTF-8 is replaced: equal reports give equal text.
[[nodiscard]] std::string result_json(const RunReport& report);

}  // namespace lockstep::reports
