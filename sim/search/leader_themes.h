// Themes of draws in which the servers of a NATS cluster change who leads, or have no majority: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Another server leads the durables and knows nothing of what is in hand, and the replica dies that has it: with a job's lock, or
/// while an older note of who leads is on its way.
void forgetful_leaders(Dice& dice, Document& scenario);

/// Servers without a majority hand dispatches to workers and do not store them, and the connection that carried one breaks.
void unheld_dispatches(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
