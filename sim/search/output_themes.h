// Themes of draws about what workers bring and policy says of it: see themes.h.
#pragma once

#include "sim/search/dice.h"
#include "sim/search/document.h"

namespace lockstep::sim {

/// Outputs with findings that lie over each other, or that policy would redact without saying where, and a store that fails
/// while they are read and written.
void troubled_outputs(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
