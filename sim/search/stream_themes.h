// Themes of draws about what the streams hold, take and lose: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Dispatches that the stream refuses again and again, or that nobody knows of, until their jobs time out and their workers are gone.
void refused_dispatches(Dice& dice, Document& scenario);

/// More results than one part of a search reads come while nobody hears them; then jobs are overdue, the stream is away, and who
/// has a result in hand dies.
void many_unheard(Dice& dice, Document& scenario);

/// What nobody can read, on several subjects, several at a time, for minutes.
void steady_garbage(Dice& dice, Document& scenario);

/// Large messages and little room for them, so that intake pauses and goes on again and again.
void narrow_window(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
