// Text for a terminal.
#pragma once

#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::prod {

/// With `?` in the place of each hidden character (prod/observe/hidden_characters.h): what comes from a job must not drive the
/// operator's terminal.
[[nodiscard]] std::string printable(std::string_view text);
/// The same of a text of several lines.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// Microseconds since the epoch as "2026-01-31T12:00:00.123Z"; other text as it is.
[[nodiscard]] std::string micros_as_time(std::string_view micros);

/// The largest units of a span that say enough: 1.2s, 2m03s, 5h12m, 3d04h. Nothing is negative.
[[nodiscard]] std::string length(engine::Duration span);
/// The same of a difference of stored times, which may be any.
[[nodiscard]] std::string length(std::chrono::microseconds span);

}  // namespace lockstep::prod
