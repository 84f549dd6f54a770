// Themes of draws in which servers are slow or away and replicas come and go: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Everybody whom a handler asks takes long, so that handlers outlive what they hold unless they keep it alive, and what has little
/// time for a turn uses it up with its first call.
void slow_servers(Dice& dice, Document& scenario);

/// Redis refuses everything for a moment, in the middle of a step of a job: long enough to fail it, and over before anybody
/// tries again.
void hiccups(Dice& dice, Document& scenario);

/// Locks of jobs are taken by calls whose answers never come, or that fail half way.
void lost_takings(Dice& dice, Document& scenario);

/// Redis answers so slowly that calls wait for those before them, and what takes a lock gets there long after its caller has gone.
void clogged_connections(Dice& dice, Document& scenario);

/// A replica that is cut off from the store in the middle of a job, and has to wait for another server meanwhile.
void stranded(Dice& dice, Document& scenario);

/// An operator who changes settings while jobs run, not always for the better, and puts them right in the end.
void settings_change(Dice& dice, Document& scenario);

/// Replicas that are stopped, killed and started again, one after the other or all at once.
void comings_and_goings(Dice& dice, Document& scenario);

/// Single kinds of call fail, with or without effect, while everything that a replica calls for comes about: rollbacks,
/// timeouts, messages that nobody can read, a submission that comes again after its end.
void failing_calls(Dice& dice, Document& scenario);

/// Where the jobs of a worker are listed, for whoever looks, stands somebody else's key of another type.
void squatted_keys(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
