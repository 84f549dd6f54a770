// Themes of draws about whose a job is and who decides about it: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Tenants with a limit that hand in more than that at once.
void tenants(Dice& dice, Document& scenario);

/// Jobs that a human has to look at, some of which bear labels that only an approval should give them.
void approvals(Dice& dice, Document& scenario);

/// Submissions that lie, and two tenants that call their runs and workflows the same. Through a gateway that records a job
/// before anybody looks at it: one that is refused at once leaves nothing that could be waited for.
void mutated_submissions(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
