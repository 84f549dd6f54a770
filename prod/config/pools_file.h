// pools.yaml: which pools serve which topics.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "engine/routing/pools.h"

namespace lockstep::prod {

/// The error is `file:line: what`.
[[nodiscard]] tl::expected<engine::RoutingTable, std::string> parse_pools_file(const std::string& text, const std::string& file);

}  // namespace lockstep::prod
