// The jobs of a timeline as a table of HTML: a row for each, with a bar in the colours of what it waited for. It needs no script;
// one that is there filters the events by the row that is chosen.
#pragma once

#include <string>

#include "reports/timeline.h"

namespace lockstep::reports {

/// Empty where there are no jobs. Of more than `timeline.table_bytes_max` bears those stand that a reader looks for first, and the
/// table says so: the job of the violation, those that did not succeed, those that took longest.
[[nodiscard]] std::string jobs_table(const Timeline& timeline);

}  // namespace lockstep::reports
