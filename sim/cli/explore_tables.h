// What an exploration found as a page of Markdown and as comma-separated values: the failures of its document (json_output.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::sim::cli {

/// REQUIRES of both: the document of `explore --json`.
[[nodiscard]] std::string explore_markdown(const nlohmann::json& document);
/// A row for each kind of failure below the names of the columns.
[[nodiscard]] std::string explore_csv(const nlohmann::json& document);

}  // namespace lockstep::sim::cli
