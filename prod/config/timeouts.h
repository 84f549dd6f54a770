// timeouts.yaml: how long jobs may stay where they are. What its values mean: engine/config/timeouts.h.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "engine/config/timeouts.h"

namespace lockstep::prod {

/// Unknown keys are mistakes; each is reported as `file:line: pointer what`, one per line.
[[nodiscard]] tl::expected<engine::Timeouts, std::string> parse_timeouts_file(const std::string& text,
                                                                              const std::string& file);

}  // namespace lockstep::prod
