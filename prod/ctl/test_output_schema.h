// For tests: whether what lockstepctl prints is as its published schema says.
#pragma once

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "engine/expression/json_schema.h"

namespace lockstep::prod::testing {

/// What is wrong with the output of a command (a name in the schema's definitions), a line each; empty: it fits. Throws
/// std::runtime_error where `schema_file` cannot be read; the build of a test says where it is.
inline std::string misfits(const std::string& schema_file, const std::string& command, const nlohmann::json& output) {
    std::ifstream file(schema_file);
    nlohmann::json schema = nlohmann::json::parse(file, nullptr, false);
    if (!schema.is_object() || !schema["definitions"].contains(command))
        throw std::runtime_error("no schema of " + command);
    schema["allOf"] = {{{"$ref", "#/definitions/" + command}}};
    const auto loaded = engine::JsonSchema::load(schema);
    if (!loaded) throw std::runtime_error(loaded.error().front().what);
    std::string text;
    for (const auto& violation : loaded->violations(output))
        text += fmt::format("{}: {}\n", violation.instance, violation.what);
    return text;
}

}  // namespace lockstep::prod::testing
