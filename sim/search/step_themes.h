// Themes of draws about single steps of workflow runs: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Steps that fail, for good and for now, until their tries are used up; with handlers, conditions that hold or do not, and templates
/// of what is not there. What is told of one try may come again while the next one is under way.
void failing_steps(Dice& dice, Document& scenario);

/// Many runs that have nothing to do for an hour, and looks at few at a time: whose job ends without a result is found behind them.
void sleeping_runs(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
