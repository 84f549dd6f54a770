// Themes of draws about what becomes of messages on their way: see themes.h.
#pragma once

#include "sim/scenario/document.h"
#include "sim/search/dice.h"

namespace lockstep::sim {

/// Packets that cannot be read, and a store that cannot always be told of them.
void garbled_packets(Dice& dice, Document& scenario);

/// What the stream holds as packets reaches replicas as something else. Without a gateway that writes to Redis nobody but the
/// message knows of a job.
void garbled_deliveries(Dice& dice, Document& scenario);

/// Messages that nobody can bury while Redis refuses scripts, until few deliveries are left; and replicas that are killed or
/// stopped with them in hand, no more often than the margin allows for. Alone: other faults would use up deliveries as well.
void spent_deliveries(Dice& dice, Document& scenario);

/// Large submissions, all at once, while policy takes long to answer; one hundredth of the real sizes.
void large_jobs(Dice& dice, Document& scenario);

/// Messages come twice, late and in another order, and acknowledgements do not arrive. Another service may read results.
void redelivery(Dice& dice, Document& scenario);

/// Answers to publishes get lost, and connections with the messages that they carry, while the servers live on: what a replica
/// learns of its own message then, it learns over another connection.
void lost_answers(Dice& dice, Document& scenario);

/// Packets of one kind on the subject of another, and heartbeats of workers whose names no subject can carry.
void wrong_places(Dice& dice, Document& scenario);

}  // namespace lockstep::sim
