// A run that has failed and is to go on from what has failed (workflow.md 9): what has succeeded stays.
#pragma once

#include <string>

#include "engine/runs/definition.h"
#include "engine/runs/run_document.h"

namespace lockstep::engine {

/// Why the run cannot go on, as a sentence about "it" with the way out; empty: it can. Neither argument is kept.
[[nodiscard]] std::string obstacle_to_retry(const WorkflowDefinition& workflow, RunDocument& run);

}  // namespace lockstep::engine
