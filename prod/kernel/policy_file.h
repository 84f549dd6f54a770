// safety.yaml: from the file to a policy that a kernel decides by.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "prod/kernel/kernel_service.h"

namespace lockstep::prod {

/// Every mistake of the file is reported, one `file:line: what` per line.
[[nodiscard]] tl::expected<LoadedPolicy, std::string> parse_policy(const std::string& text, const std::string& file);
[[nodiscard]] tl::expected<LoadedPolicy, std::string> load_policy(const std::string& file, std::size_t max_bytes = 2U << 20U);

}  // namespace lockstep::prod
