// Jobs of a tenant with a limit that stand in its line, while little else happens: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Those who hold the slots end by their results, by a gateway, by a scheduler, or not for long; policy may be away for a moment, or
/// lift the limit.
void tenant_lines(Dice& dice, Document& scenario);
/// Nobody hears that a gateway has ended those who hold slots, until somebody else comes to the limit.
void silent_ends(Dice& dice, Document& scenario);
/// A job that has a slot, and is not yet sent out, is told of a limit that the others of its tenant reach without it; then some of
/// those are ended, and nobody hears of it.
void narrower_limits(Dice& dice, Document& scenario);
/// Whoever has called somebody, or was called, does not live to take him up.
void lost_calls(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
