// Somebody is away, or silent, at one moment at which others go on without: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Many jobs are overdue at once, and whoever ends them is frozen in the midst of it, until another one does.
void lost_ticks(Dice& dice, Document& scenario);
/// NATS is out of reach for so long that even a client that is never told finds out.
void long_silence(Dice& dice, Document& scenario);
/// Marks of having been processed that stand for other messages, and a guard that Redis does not answer.
void failing_guards(Dice& dice, Document& scenario);
/// What came garbled, and what is overdue, while the stream cannot be asked.
void unread_stream(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
