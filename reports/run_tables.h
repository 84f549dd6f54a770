// A run report as a page of Markdown, for a pull request, and as comma-separated values, for a spreadsheet.
#pragma once

#include <string>

#include "reports/run_report.h"

namespace lockstep::reports {

/// What failed with the commands that show it, what was left unproved, and a row for each scenario.
[[nodiscard]] std::string run_markdown(const RunReport& report);

/// A row for each run below the names of the columns. Times are in milliseconds; several values of a field have a space between.
[[nodiscard]] std::string run_csv(const RunReport& report);

}  // namespace lockstep::reports
