#include <nlohmann/json.hpp>

#include "engine/expression/json_schema.h"
#include "engine/fuzz/targets.h"
#include "engine/testing/fuzz_target.h"
#include "engine/wire/json_text.h"

namespace lockstep::fuzz {

namespace {

using Json = nlohmann::json;

void validate(const engine::JsonSchema& schema, const Json& value) {
    const auto violations = schema.violations(value);
    FUZZ_MUST(violations.size() <= engine::SchemaLimits{}.violations);
    for (const auto& one : violations) {
        FUZZ_MUST(!one.what.empty());
        FUZZ_MUST(value.contains(Json::json_pointer(one.instance)));
    }
}

}  // namespace

void schema(std::string_view input) {
    const Json document = engine::wire::parse_bounded(input);
    if (!document.is_array() || document.empty()) return;
    const auto loaded = engine::JsonSchema::load(document[0]);
    if (!loaded) {
        FUZZ_MUST(!loaded.error().empty());
        for (const auto& mistake : loaded.error()) FUZZ_MUST(document[0].contains(Json::json_pointer(mistake.pointer)));
        return;
    }
    // A schema is a value as well.
    for (const Json& value : document) validate(*loaded, value);
}

}  // namespace lockstep::fuzz
