// The workflow runs of a timeline as a table of HTML: a row for each run and each step, with its states as bars over time. It needs no
// script; one that is there makes links of the jobs.
#pragma once

#include <string>

#include "reports/timeline.h"

namespace lockstep::reports {

/// Empty where there are no runs.
[[nodiscard]] std::string runs_table(const Timeline& timeline);

}  // namespace lockstep::reports
