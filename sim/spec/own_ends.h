// The ends that a scheduler gives a job by itself, and what explains them: a TIMEOUT the time that the job has been in its state, or a
// deadline that has passed; a FAILED the tries that it had, or the cause that its dead letter names. Either may also be what a worker
// reported.
//
// 1. Times are those that Redis wrote: a stay is the difference of two of them, and independent of every other clock.
// 2. Of the limits that were in force at some time in the run the smallest counts: which replica has read which settings cannot be seen
//    (settings.md 3).
#pragma once

#include <string>

#include "engine/config/tunables.h"
#include "fakes/redis/keyspace.h"
#include "sim/model/model.h"

namespace lockstep::sim::spec {

/// How many handlers in a row do not come back before what they handle is set aside (engine/delivery-semantics.md, "Work that never
/// comes back").
inline constexpr int kLostBeforeAside = 6;

/// What is wrong with the end that was dated; empty: nothing, or it is no TIMEOUT by a scheduler.
[[nodiscard]] std::string unexplained_timeout(const StateDated& dated, const Model& model,
                                              const engine::Tunables& tunables);

/// What is wrong with the FAILED of a job at the end of the run; empty: nothing, or it is none. One without a dead letter is for
/// dead_letter_complete.
[[nodiscard]] std::string unexplained_failure(const Job& job, const fakes::redis::Keyspace& redis, const Model& model,
                                              const engine::Tunables& tunables);

}  // namespace lockstep::sim::spec
