// Themes of draws in which workflows are undone: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Runs of a workflow whose last step fails, so that the others are undone, and replicas disturbed while they undo them.
void rollbacks(Dice& dice, Document& scenario);

/// Several workflows and tenants roll back at once, steps succeed when that is over, and what was recorded grows old.
void crowded_rollbacks(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
