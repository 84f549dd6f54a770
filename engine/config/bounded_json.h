// JSON that others have written, read so that it cannot do harm: nobody but the configuration service's clients says what
// stands in its documents.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lockstep::engine {

/// Deeper than any document of ours. What is nested without bounds would exhaust the stack of whoever writes it out again.
inline constexpr int kJsonDepthMax = 64;

/// `is_discarded()` when the text is no JSON or is nested deeper than `depth`. Throws nothing.
[[nodiscard]] nlohmann::json parse_bounded(std::string_view text, int depth = kJsonDepthMax);

/// Canonical JSON: sorted keys, no white space.
[[nodiscard]] std::string canonical(const nlohmann::json& value);

/// What two documents have in common exactly when they say the same, in whatever order: the SHA-256 of their canonical
/// JSON, in hexadecimal (settings.md 4). Empty for a text that `parse_bounded` does not read.
[[nodiscard]] std::string fingerprint_of_text(std::string_view text);
[[nodiscard]] std::string fingerprint_of(const nlohmann::json& value);

}  // namespace lockstep::engine
