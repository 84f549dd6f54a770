// What starts and restarts a process that binds the engine, as its supervisor does in production.
#pragma once

#include <chrono>

#include "engine/runtime/time.h"

namespace lockstep::sim {

/// The daemon connects before it builds its scheduler; this is how often it looks.
inline constexpr engine::Duration kConnectPoll = std::chrono::milliseconds{10};
/// One that cannot set itself up ends with an error and is started again after this pause.
inline constexpr engine::Duration kSupervisorPause = std::chrono::seconds{1};

}  // namespace lockstep::sim
