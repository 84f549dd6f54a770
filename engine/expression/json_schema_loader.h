// Reads a schema.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>
#include <vector>

#include "engine/expression/json_schema.h"
#include "engine/expression/json_schema_program.h"

namespace lockstep::engine::schema {

/// Or every mistake.
[[nodiscard]] tl::expected<Program, std::vector<SchemaMistake>> loaded(const nlohmann::json& schema,
                                                                       const SchemaLimits& limits);

}  // namespace lockstep::engine::schema
