// JSON as text: the only place that reads and writes it. Each translation unit that called the library's own functions would compile
// its parser and its serializer again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep::engine::wire {

enum class Comments { refused, skipped };

/// `is_discarded()` when the text is no JSON. These throw nothing.
[[nodiscard]] nlohmann::json read_json(std::string_view text);
[[nodiscard]] nlohmann::ordered_json read_ordered_json(std::string_view text, Comments comments = Comments::refused);

/// Deeper than any document of this project. What is nested without bounds would exhaust the stack when it is written again.
inline constexpr int kJsonDepthMax = 64;

/// For what anybody may have written: `is_discarded()` also when it is nested deeper than `depth`.
[[nodiscard]] nlohmann::json parse_bounded(std::string_view text, int depth = kJsonDepthMax);

/// For what is known to be JSON, and for those who tell where it is not: these throw `nlohmann::json::exception`.
[[nodiscard]] nlohmann::json sound_json(std::string_view text, Comments comments = Comments::refused);
[[nodiscard]] nlohmann::ordered_json sound_ordered_json(std::string_view text);

/// In one line without white space, or with a line for each member, indented by `indent` for each level. Keys are sorted, or stand
/// as they were added; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(const nlohmann::json& value, int indent = -1);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value, int indent = -1);
/// In ASCII: what is not is escaped, so that the text can be cut anywhere.
[[nodiscard]] std::string ascii_json_text(const nlohmann::json& value);

}  // namespace lockstep::engine::wire
