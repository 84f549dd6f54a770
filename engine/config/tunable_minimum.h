// The least that a duration of the table of tunables may be; `set_tunable` refuses less. Positive where less would be a loop
// without a pause, a deadline that is always over, or a time to live that Redis, which counts in milliseconds, refuses.
#pragma once

#include "engine/config/tunables.h"

namespace lockstep::engine {

/// Zero for every tunable that may be zero, and for those that are no durations.
[[nodiscard]] Duration minimum_of(const TunableInfo& info);

}  // namespace lockstep::engine
