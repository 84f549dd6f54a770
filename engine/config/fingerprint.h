// Whether two documents say the same.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep::engine {

/// What two documents have in common exactly when they say the same, in whatever order: the SHA-256 of their canonical
/// JSON, in hexadecimal (settings.md 4). Empty for a text that `wire::parse_bounded` does not read.
[[nodiscard]] std::string fingerprint_of_text(std::string_view text);
[[nodiscard]] std::string fingerprint_of(const nlohmann::json& value);

}  // namespace lockstep::engine
