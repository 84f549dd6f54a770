// Lists that are looked through page by page, of which the first pages have to stay as they are: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Deadlines that have passed and have to wait, because a result of their job may be unheard, stand before others that need not.
void waiting_deadlines(Dice& dice, Document& scenario);
/// Jobs that nobody can place, and gates that nobody opens, stand before some whose only message has been lost with a replica.
void unplaceable_jobs(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
