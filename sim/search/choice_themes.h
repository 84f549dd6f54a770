// Themes of draws about which worker a job goes to: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Workers whose processors are about as busy as a worker may be, and replicas that start when they are.
void graded_loads(Dice& dice, Document& scenario);

/// Workers that start again under their names in another pool, with other places, capabilities or labels.
void moving_workers(Dice& dice, Document& scenario);

/// Workers fall silent one after the other while jobs are on their way to them.
void lost_choices(Dice& dice, Document& scenario);

/// Replicas that start with an old snapshot of workers, some of whom are gone; its writers are held up.
void old_news(Dice& dice, Document& scenario);

/// Pools that offer the same by other spellings, pools of which nothing is written, and jobs that prefer whom they cannot have.
void odd_pools(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
