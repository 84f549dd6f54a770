// Themes of draws about workflow runs: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Runs of workflows of drawn shapes, of every type of step, on engines of their own or beside the schedulers; approved, refused,
/// cancelled, or stored by a gateway of another kind.
void workflows(Dice& dice, Document& scenario);

/// A gateway of another kind that rewrites, approves and cancels runs over what engines have written meanwhile.
void other_gateways(Dice& dice, Document& scenario);

/// Delays and pauses between tries, while the engines that have set them die; whoever looks at all runs does so seldom.
void kept_delays(Dice& dice, Document& scenario);

/// Engines that freeze for longer than a run's lock lives, with what they have read in hand, while results of the same run come; or
/// that go on without the lock where they do not get it soon.
void frozen_engines(Dice& dice, Document& scenario);

/// Many results of one run at once, for several engines.
void crowded_runs(Dice& dice, Document& scenario);

/// Engines that die between the commit of a step and the submission of its job, or whose changes do not get through.
void half_done_steps(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
