// pools.yaml: which pools serve which topics.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "engine/config/pools.h"

namespace lockstep::prod {

struct PoolsFile {
    engine::RoutingTable table;
    std::string json;  // the same document, to be made known to others
};

/// The error is `file:line: what`.
[[nodiscard]] tl::expected<PoolsFile, std::string> parse_pools_file(const std::string& text, const std::string& file);

}  // namespace lockstep::prod
