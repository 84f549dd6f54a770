// A violation as one screen of text: the invariant, the two facts that contradict each other, the job, who held its lock,
// clocks and faults in force. `run`, `replay` and `explain` show the same one.
#pragma once

#include <string>
#include <vector>

#include "reports/run_report.h"

namespace lockstep::sim::cli {

/// Without the story. The first line names the invariant, the job, the node and the time.
[[nodiscard]] std::vector<std::string> violation_lines(const reports::Violation& violation);

/// The end of a story, which is where it went wrong: at most `lines_max` lines, the first of which says what was left out.
[[nodiscard]] std::vector<std::string> last_lines(const std::vector<std::string>& story, std::size_t lines_max);

}  // namespace lockstep::sim::cli
