// What a scenario file may mean and probably does not: settings that contradict each other (engine/config/relations.h), words that mean
// something else than they look like, pools without workers, rules that are switched off, and what engines do not carry out of a workflow
// (engine/runs/definition_slips.h). It is warned of and run.
#pragma once

#include <vector>

#include "sim/scenario/loader.h"

namespace lockstep::sim {

/// Of what the file itself says, at its place in the file, or of what --set says in its place.
[[nodiscard]] std::vector<LoadError> warnings_of(const Scenario& scenario);

}  // namespace lockstep::sim
