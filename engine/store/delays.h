// Delays between two tries of a job that the store has to know of.
#pragma once

#include "engine/config/tunables.h"

namespace lockstep::engine {

/// Between two tries of a job whose input is not found. Of a fixed length, unlike other delays: what comes of it is promised.
inline constexpr Duration kInputRetryDelay = std::chrono::seconds{5};

/// A next try that is further away than this was written by another clock.
[[nodiscard]] Duration longest_delay(const Tunables& tunables);

}  // namespace lockstep::engine
