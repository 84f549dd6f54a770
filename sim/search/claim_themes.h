// Themes of draws about what requests claim of themselves in odd places: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Jobs whose tenant stands in a variable only; idempotency keys that two tenants share.
void tenants_in_variables(Dice& dice, Document& scenario);

/// Marks that only policy and rollbacks set: on jobs, in their metadata, and on what undoes them. What undoes a job claims another
/// tenant, has a budget of its own, fails for good.
void forged_marks(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
