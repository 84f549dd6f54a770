// Themes of draws about settings that change, contradict each other and cannot be read: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Documents of settings that are replaced several times, then unreadable, then gone; and Redis refuses them just when a job is
/// taken up.
void rewritten_settings(Dice& dice, Document& scenario);

/// Fail modes pinned at the start that the settings contradict, in words that are no modes and under flat names, while policy is
/// away and inputs cannot be read.
void contradicted_modes(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
