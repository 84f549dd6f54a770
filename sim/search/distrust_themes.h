// Themes of draws in which somebody's word is not to be taken: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Somebody who may publish on the bus, and forges what he can: results, heartbeats, an approval.
void forged_word(Dice& dice, Document& scenario);

/// Inputs that nobody can read for a while, or ever.
void unseen_inputs(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
