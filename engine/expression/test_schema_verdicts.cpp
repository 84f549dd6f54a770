// Reads pairs of a schema and a value, one JSON document {"schema": …, "value": …} a line, and says of each whether the
// value fits: true, false, or why the schema is refused. For compare_schemas.py, which asks another implementation the
// same.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/expression/json_schema.h"

int main() {
    using Json = nlohmann::json;
    std::string line;
    while (std::getline(std::cin, line)) {
        const Json pair = Json::parse(line);
        const auto schema = lockstep::engine::JsonSchema::load(pair.at("schema"));
        Json verdict;
        if (schema) {
            const auto violations = schema->violations(pair.at("value"));
            verdict["fits"] = violations.empty();
            if (!violations.empty()) verdict["why"] = violations.front().schema + ": " + violations.front().what;
        } else {
            verdict["refused"] = schema.error().front().pointer + ": " + schema.error().front().what;
        }
        std::cout << verdict.dump() << '\n';
    }
}
