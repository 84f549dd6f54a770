// The functions that an expression may call.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/expression/expression_budget.h"
#include "engine/expression/expression_operators.h"

namespace lockstep::engine::expression {

struct Function {
    std::string_view name;
    Computed<nlohmann::json> (*call)(const nlohmann::json& value, Budget& budget);
};

/// By number; each takes one value.
[[nodiscard]] const Function& function(std::size_t number);
[[nodiscard]] std::optional<std::size_t> function_number(std::string_view name);
/// `; did you mean "…"?`, or `; known: …`.
[[nodiscard]] std::string function_suggestion(std::string_view name);

}  // namespace lockstep::engine::expression
