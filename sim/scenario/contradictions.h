// Settings of a scenario that contradict each other (engine/config/relations.h). A file may mean them: it is warned of them and run.
#pragma once

#include <vector>

#include "sim/scenario/loader.h"

namespace lockstep::sim {

/// Those of which the file itself sets one, at its place in the file.
[[nodiscard]] std::vector<LoadError> contradictions_in(const Scenario& scenario);

}  // namespace lockstep::sim
