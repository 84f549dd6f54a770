// Themes of draws in which something runs full, or ends just when something else does: see themes.h.
#pragma once

#include <string>

#include "engine/runtime/time.h"
#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// How long the tunable of this name lasts in this scenario. REQUIRES: one that is a duration.
[[nodiscard]] engine::Duration limit_in_force(const Document& scenario, const std::string& name);

/// Nothing more fits into the stream of dispatches, and workers hear of what it refuses all the same.
void full_stream(Dice& dice, Document& scenario);

/// Many jobs are overdue at once, and sweeps look at few at a time.
void small_pages(Dice& dice, Document& scenario);

/// Two steps of one job are disturbed, one after the other.
void one_job_twice(Dice& dice, Document& scenario);

/// Of a drawn scenario: some freezes and cuts last about as long as a limit that is in force in it, a little less or a little
/// more, instead of what was drawn without regard to it.
void relate_to_limits(Dice& dice, Document& scenario);

/// Jobs that wait for a human for longer than records live. Alone: what others leave waiting is forgotten.
void patience(Dice& dice, Document& scenario);

/// Limits of run time, of waiting and of attempts from several sides at once, in either unit, that change as jobs run.
void several_limits(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
