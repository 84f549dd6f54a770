// Themes of draws about where a job may go: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Several pools with capabilities, workers with labels, jobs that want some of them, and pools that drain meanwhile.
void placements(Dice& dice, Document& scenario);

/// Jobs that find no worker go out on their topic.
void fallbacks(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
