#include "engine/runs/schema_check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/expression/json_schema.h"

namespace lockstep::engine {

std::string mistake_by(const nlohmann::json& schema, const nlohmann::json& value) {
    if (schema.is_null()) return {};
    const auto loaded = JsonSchema::load(schema);
    if (!loaded)
        return fmt::format("its schema has a mistake at \"{}\": {}", loaded.error().front().pointer,
                           loaded.error().front().what);
    const auto violations = loaded->violations(value);
    if (violations.empty()) return {};
    const SchemaViolation& first = violations.front();
    return fmt::format("at \"{}\": {} ({})", first.instance, first.what, first.schema);
}

}  // namespace lockstep::engine
