// Faults as draws use them: placed between two steps of a replica, where a freeze or a crash makes a difference, or spread
// over the time.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Appends to `faults` a disturbance at one single event: a freeze or a crash of the very node, a cut of its links, a server
/// in trouble; sometimes two of these at once. Bugs of concurrency need few preemptions, if they come at the right place
/// (PCT), and a place is drawn with equal chance on every scale.
void add_preemption(Dice& dice, Document& faults);

/// The same at a given trigger: `on` as a file has it, without `when` and `nth`; the nth is at most `nth_max`.
void add_preemption_at(Dice& dice, Document on, int nth_max, Document& faults);

/// Data of Redis lost at one single event: the locks vanish under a replica that holds one, or a replica of Redis takes over
/// that lags behind, or Redis restarts. What is lost by the latter two, the cluster says.
void add_loss(Dice& dice, Document& faults);

/// The power of NATS fails around the publish of a job: while its dispatch is committed, when its worker has it, or anywhere.
/// Mostly answers to publishes get lost as well, and connections of which the server knows nothing bad.
void add_power_cut(Dice& dice, Document& faults);

/// What chaos does not draw: a worker that lies or says that it is overloaded, a replica that is stopped in good order, core
/// messages that get lost, an output policy that is away. REQUIRES: a worker w-0.
[[nodiscard]] Document mishap(Dice& dice);

}  // namespace lockstep::sim
