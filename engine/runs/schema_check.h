// Values held against the JSON Schemas of a definition.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::engine {

/// What is wrong with `value` by `schema`, with its place; empty where nothing is, or where there is no schema (null).
[[nodiscard]] std::string mistake_by(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace lockstep::engine
