// Times as text, in the records and documents that others read.
#pragma once

#include <string>

#include "engine/runtime/time.h"

namespace lockstep::engine::wire {

/// RFC 3339 in UTC with microseconds.
[[nodiscard]] std::string rfc3339(WallTime time);

}  // namespace lockstep::engine::wire
