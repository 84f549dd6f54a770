// timeouts.yaml: how long jobs may stay where they are. What its values mean: engine/config/timeouts.h.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "engine/config/timeouts.h"

namespace lockstep::prod {

/// Unknown keys are mistakes; each is reported as `file:line: pointer what`, one per line.
[[nodiscard]] tl::expected<engine::Timeouts, std::string> parse_timeouts_file(const std::string& text,
                                                                              const std::string& file);

/// What to warn of, empty for nothing: a result in the hands of a replica that died comes again after the ack wait, and the
/// job must not have been timed out by then (D-03).
[[nodiscard]] std::string late_result_warning(const engine::Tunables& tunables, const engine::Timeouts* timeouts);

}  // namespace lockstep::prod
