// Themes of draws about what a request may say, truthfully or not: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Adds one to three fields of a request to a job, with values that the rules allow; what it says already stays.
void embellish(Dice& dice, Document& job);

/// The same for what undoes a job, and more of it.
void embellish_compensation(Dice& dice, Document& compensation);

/// Requests that are invalid, or just valid; the same id with another content; one idempotency key for several jobs; inputs in
/// odd places.
void odd_requests(Dice& dice, Document& scenario);

/// Submissions of jobs that have ended, of some of which the dead letter is lost.
void called_again(Dice& dice, Document& scenario);

/// Jobs whose deadline comes about when they end: their own, or one that policy sets.
void deadlines(Dice& dice, Document& scenario);

/// Topics and workflows with limits of their own, about as long as the jobs take.
void own_limits(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
