// The delay before the next scheduling try (wire.md 4.1), jitter uniform in [0, backoff_jitter):
//   min(base * 2^attempt + jitter, max) while base * 2^attempt is below max; max - jitter, 0 at least, from there on.
#pragma once

#include "engine/config/tunables.h"
#include "engine/ports/entropy.h"

namespace lockstep::engine {

/// `attempt` = earlier tries; a negative one counts as none.
[[nodiscard]] Duration backoff_delay(std::int64_t attempt, const Tunables& tunables, Entropy& entropy);

/// The delay before the next try of a job that has waited for so long and finds no room among others (wire.md 4.1): at most as long again,
/// within [safety_throttle_delay, backoff_max], and at least half of that. What was sent away together does not come back together, and who
/// has waited for long takes part of what there is to do seldom. Which of them then goes first is decided where the room is.
[[nodiscard]] Duration delay_without_room(Duration waited, const Tunables& tunables, Entropy& entropy);

/// How long `max_scheduling_retries` tries take, without jitter.
[[nodiscard]] Duration time_of_all_tries(const Tunables& tunables);

}  // namespace lockstep::engine
