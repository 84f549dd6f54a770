#include <nlohmann/json.hpp>
#include <string>

#include "engine/expression/expression.h"
#include "engine/expression/expression_template.h"
#include "engine/fuzz/targets.h"
#include "engine/testing/fuzz_target.h"
#include "engine/wire/json_text.h"

namespace lockstep::fuzz {

namespace {

using Json = nlohmann::json;

const Json& scope() {
    static const Json kScope = engine::wire::sound_json(R"({
        "input": {"n": 3, "least": -9223372036854775808, "most": 9223372036854775807, "beyond": 18446744073709551615,
                  "half": 0.5, "huge": 1e308, "t": "aabaab \u00e9", "list": [1, "a", null, [2.0, {"k": "v"}]],
                  "no": false},
        "ctx": {"steps": {"a": {"output": {"ok": true}}}, "empty": {}, "none": null},
        "steps": {"a-b": {"output": [1, 2, 3]}},
        "item": "x",
        "loop": {"index": 2}
    })");
    return kScope;
}

/// Small enough for an input to meet every one of them.
constexpr engine::ExpressionLimits kSmall{.length = 200, .items = 4, .depth = 6, .steps = 300, .bytes = 120};

std::size_t size_of_texts(const Json& value) {
    if (value.is_string()) return value.get_ref<const std::string&>().size();
    std::size_t bytes = 0;
    for (const auto& [key, one] : value.items()) {
        if (value.is_object()) bytes += key.size();
        if (value.is_structured()) bytes += size_of_texts(one);
    }
    return bytes;
}

void evaluate(std::string_view text, const engine::ExpressionLimits& limits) {
    const auto read = engine::Expression::parse(text, limits);
    const auto value = engine::evaluate(text, scope(), limits);
    if (!read) FUZZ_MUST(!value && value.error().what == read.error().what);
    if (!value) {
        FUZZ_MUST(!value.error().what.empty());
        FUZZ_MUST(value.error().column <= text.size() + 1);
        return;
    }
    const auto again = read->evaluate(scope());
    FUZZ_MUST(again.has_value());
    FUZZ_MUST(engine::wire::json_text(*again) == engine::wire::json_text(*value));
    FUZZ_MUST(size_of_texts(*value) <= limits.bytes);
    FUZZ_MUST(!value->is_structured() || value->size() <= limits.items);
}

void fill(const Json& pattern, const engine::ExpressionLimits& limits) {
    const auto mistakes = engine::template_mistakes(pattern, limits);
    const auto filled = engine::fill_template(pattern, scope(), limits);
    if (filled) {
        FUZZ_MUST(mistakes.empty());
        FUZZ_MUST(size_of_texts(*filled) <= limits.bytes);
    } else {
        FUZZ_MUST(!filled.error().what.empty());
    }
    for (const auto& mistake : mistakes) FUZZ_MUST(pattern.contains(Json::json_pointer(mistake.pointer)));
}

}  // namespace

void expression(std::string_view input) {
    for (const auto& limits : {engine::ExpressionLimits{}, kSmall}) {
        evaluate(input, limits);
        fill(std::string(input), limits);
        if (const Json document = engine::wire::parse_bounded(input); !document.is_discarded()) fill(document, limits);
    }
}

}  // namespace lockstep::fuzz
