// The delay before the next scheduling try (wire.md 4.1):
//   min(base * 2^attempt + jitter, max), jitter uniform in [0, backoff_jitter).
#pragma once

#include "engine/config/tunables.h"
#include "engine/ports/entropy.h"

namespace lockstep::engine {

/// `attempt` = earlier tries; a negative one counts as none.
[[nodiscard]] Duration backoff_delay(std::int64_t attempt, const Tunables& tunables, Entropy& entropy);

}  // namespace lockstep::engine
