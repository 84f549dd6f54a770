// Times as text, in the records and documents that others read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::engine::wire {

/// RFC 3339 in UTC with microseconds.
[[nodiscard]] std::string rfc3339(WallTime time);

/// RFC 3339 with any offset and any number of decimals; nothing for anything else. What is before 1970 or after 2200 is the nearest
/// instant that is not: the span between two times always fits a Duration.
[[nodiscard]] std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace lockstep::engine::wire
