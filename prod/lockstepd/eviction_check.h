// Whether Redis may throw away what it was given: then a job's records, locks and marks vanish without a word, and no promise holds (O18).
#pragma once

#include <string>
#include <string_view>

#include "engine/ports/clock.h"
#include "engine/ports/redis.h"
#include "engine/runtime/outcome.h"
#include "engine/runtime/task.h"

namespace lockstep::prod {

/// Of what `INFO memory` answers: the policy by which keys may be evicted, such as `allkeys-lru`; empty where none is.
[[nodiscard]] std::string evicting_policy(std::string_view info);

/// Asks the server, with a deadline of its own. Both outlive the call.
[[nodiscard]] engine::Task<engine::Outcome<std::string>> find_evicting_policy(engine::Redis& redis,
                                                                              engine::Clock& clock);

}  // namespace lockstep::prod
