// A span as Redis commands and scripts take it: whole milliseconds, in decimal digits.
#pragma once

#include <string>

#include "engine/runtime/time.h"

namespace lockstep::engine {

[[nodiscard]] inline std::string millis(Duration duration) { return std::to_string(to_millis(duration)); }

}  // namespace lockstep::engine
