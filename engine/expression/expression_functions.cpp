#include "engine/expression/expression_functions.h"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/config/nearest.h"
#include "engine/expression/utf8.h"

namespace lockstep::engine::expression {

namespace {

using Json = nlohmann::json;

Computed<Json> length_of(const Json& value, Budget&) {
    if (value.is_string()) return Json(value.get_ref<const std::string&>().size());
    return Json(value.is_structured() ? value.size() : std::size_t{0});
}

Computed<Json> len_of(const Json& value, Budget& budget) {
    if (value.is_structured()) return Json(value.size());
    if (!value.is_string())
        return tl::unexpected(fmt::format("needs a list, a map or a text, and has {}", kind_of(value)));
    const auto& text = value.get_ref<const std::string&>();
    if (!budget.spend_text(text.size())) return tl::unexpected(budget.reason());
    return Json(characters_of(text));
}

Computed<Json> first_of(const Json& value, Budget& budget) {
    if (!value.is_array() || value.empty()) return Json();
    if (!budget.spend_value(value.front())) return tl::unexpected(budget.reason());
    return Json(value.front());
}

constexpr std::array<Function, 3> kFunctions{{{"length", length_of}, {"len", len_of}, {"first", first_of}}};

}  // namespace

const Function& function(std::size_t number) { return kFunctions.at(number); }

std::optional<std::size_t> function_number(std::string_view name) {
    for (std::size_t i = 0; i < kFunctions.size(); ++i)
        if (kFunctions[i].name == name) return i;
    return std::nullopt;
}

std::string function_suggestion(std::string_view name) {
    std::vector<std::string> names;
    for (const Function& one : kFunctions) names.emplace_back(one.name);
    return suggestion(name, names);
}

}  // namespace lockstep::engine::expression
