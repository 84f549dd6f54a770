// Themes of draws in which workers are missing or cannot be relied on: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Jobs come, and for a while there is nobody to run them.
void starved(Dice& dice, Document& scenario);

/// Workers that come, go, fall silent and only pretend to work.
void flapping_workers(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
