// The operators of expressions as they are written, and the words that may not occur.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/expression/expression_lexer.h"
#include "engine/expression/expression_operators.h"
#include "engine/expression/expression_program.h"

namespace lockstep::engine::expression {

/// How tight `!` and `not`, and the signs, bind; on the scale of `Infix::precedence`, whose numbers are those of
/// expr-lang.
inline constexpr int kNot = 50;
inline constexpr int kSign = 90;

struct Infix {
    std::string_view written;
    /// The higher, the tighter.
    int precedence;
    /// What is done, or the branch that saves evaluating the right side.
    Op op = Op::binary;
    BinaryOp binary = BinaryOp::add;
    /// Whether `not` may stand before it.
    bool may_be_negated = false;
};

/// Null: there is none that is written so.
[[nodiscard]] const Infix* infix_of(const Token& token);

/// Whether it is not to be taken for the name of a value.
[[nodiscard]] bool is_word_of_the_language(const Token& token);

/// `; did you mean "…"?`, or which operators are words.
[[nodiscard]] std::string operator_suggestion(std::string_view name);

/// The place and name of the first word in a text that may not occur.
[[nodiscard]] std::optional<std::pair<std::size_t, std::string_view>> blocked_word(std::string_view text);

}  // namespace lockstep::engine::expression
