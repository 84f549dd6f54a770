// The jobs of a recorded run as the page draws them: a bar for each, in the stretches in which it waited for one thing, was on its
// way to a worker, or was executed.
#pragma once

#include "reports/timeline.h"
#include "sim/explain/causality.h"

namespace lockstep::sim {

/// Adds them in the order in which they were first heard of. What they waited for is what the measure `waiting` says
/// (sim/measure/job_times.h); a question to the safety kernel that is under way stands out of it as `policy`.
void add_jobs(const History& history, const Causality& causality, reports::Timeline& timeline);

}  // namespace lockstep::sim
