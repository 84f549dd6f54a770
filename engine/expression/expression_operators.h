// What operators of expressions do to values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "engine/expression/expression_budget.h"

namespace lockstep::engine::expression {

enum class BinaryOp : std::uint8_t {
    add,
    subtract,
    multiply,
    divide,
    remainder,
    equal,
    unequal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    contains,
    starts_with,
    ends_with
};

/// As it is written.
[[nodiscard]] std::string_view spelling(BinaryOp op);

/// A value, or what is wrong: the rest of a sentence that begins with the operator and its place.
template <class T>
using Computed = tl::expected<T, std::string>;

/// "a text", "nil" and so on, for messages.
[[nodiscard]] std::string_view kind_of(const nlohmann::json& value);
/// What an operator with two sides needs, and what it has instead.
[[nodiscard]] std::string needs(std::string_view what, const nlohmann::json& left, const nlohmann::json& right);

[[nodiscard]] Computed<nlohmann::json> apply(BinaryOp op, const nlohmann::json& left, const nlohmann::json& right,
                                             Budget& budget);

/// The element of a list or map that `index` names; null when there is none.
[[nodiscard]] Computed<const nlohmann::json*> element(const nlohmann::json& value, const nlohmann::json& index);
/// Null when it has none of that name, or is no map.
[[nodiscard]] const nlohmann::json* member(const nlohmann::json& value, const std::string& name);

}  // namespace lockstep::engine::expression
