// JSON as it is printed. With --json it is for other programs: one line, whose members output.schema.json names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep::prod {

/// "schema_version" of each document that has members of its own: major.minor of output.schema.json. A member that is added makes a new
/// minor version, one that is taken away or means something else a new major one. Lists, counts by name, and what is printed as others
/// have stored it have none.
inline constexpr std::string_view kOutputSchemaVersion = "1.2";

/// With its schema version. REQUIRES: an object.
[[nodiscard]] std::string document_line(nlohmann::json document);

/// With a newline at its end; broken UTF-8 is replaced, and hidden characters are escaped. `indent`: spaces a level; -1: all in one line.
[[nodiscard]] std::string json_text(const nlohmann::json& document, int indent = -1);

}  // namespace lockstep::prod
