// What expressions compute with numbers: the whole ones of 64 bits, and doubles; without overflow, the same on every
// platform.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/expression/expression_operators.h"

namespace lockstep::engine::expression {

/// `+`, `-`, `*`, `/` and `%`.
[[nodiscard]] Computed<nlohmann::json> arithmetic(BinaryOp op, const nlohmann::json& left, const nlohmann::json& right);
[[nodiscard]] Computed<nlohmann::json> negated(const nlohmann::json& value);
/// A number in the one form that arithmetic gives it: whole when it is whole and within 2^53.
[[nodiscard]] Computed<nlohmann::json> affirmed(const nlohmann::json& value);

}  // namespace lockstep::engine::expression
