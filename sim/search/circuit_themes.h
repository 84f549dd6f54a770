// Themes of draws about a policy service that is neither well nor away: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Policy answers late, throttles and fails by turns, and the circuit opens and closes with a steady load.
void ailing_policy(Dice& dice, Document& scenario);

/// Replicas that cannot reach the circuit that they share count for themselves; policy fails now and then, or answers late.
void lonely_circuits(Dice& dice, Document& scenario);

/// Policy comes back slowly: several probes at a time wait for it, end after the next trip, are told twice, or are asked by somebody
/// who does not live to hear the answer.
void probed_policy(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
