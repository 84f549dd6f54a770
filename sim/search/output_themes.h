// Themes of draws about what workers bring and policy says of it: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Outputs with findings that lie over each other, or that policy would redact without saying where, and a store that fails
/// while they are read and written.
void troubled_outputs(Dice& dice, Document& scenario);

/// Outputs that can be read only a moment after they were reported, that are longer than policy is shown, whose first look stays
/// without an answer, and that are to be scanned while the circuit is open.
void late_outputs(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
