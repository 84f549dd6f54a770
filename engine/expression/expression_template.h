// Documents whose texts may hold expressions in `${…}`: the input of a step, the values of a transform.
//
// A text that is one `${…}`, white space around it aside, stands for its value, of whatever type. In any other text
// each `${…}` is replaced by its value as text: nil by nothing, a text by itself, everything else by its JSON (a number
// without an exponent that it does not need, 2 for 2.0). A brace inside an expression belongs to it. Lists and maps are
// filled element by element; an entry of a map whose template yields nil is left out, while a null that is written down
// stays. Keys are no templates.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>
#include <vector>

#include "engine/expression/expression.h"

namespace lockstep::engine {

/// The document with its templates filled. `limits.length` holds for each expression, the others for the whole
/// document, `items` for each list or map that an expression yields. The first mistake ends it.
[[nodiscard]] tl::expected<nlohmann::json, ExpressionError> fill_template(const nlohmann::json& pattern,
                                                                          const nlohmann::json& scope,
                                                                          const ExpressionLimits& limits = {});

/// Every mistake of form in the expressions of a document, the first of each expression; with pointers, in the
/// document's order.
[[nodiscard]] std::vector<ExpressionError> template_mistakes(const nlohmann::json& pattern,
                                                             const ExpressionLimits& limits = {});

}  // namespace lockstep::engine
