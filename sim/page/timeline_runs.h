// The workflow runs of a recorded run as the page lists them.
#pragma once

#include "reports/timeline.h"
#include "sim/explain/run_log.h"

namespace lockstep::sim {

/// Adds them to the timeline, in the order in which they began. Of more rows than a page bears those come first that have not
/// succeeded, and a note says how many runs are left out.
void add_runs(const RunLog& log, reports::Timeline& timeline);

}  // namespace lockstep::sim
