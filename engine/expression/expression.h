// Expressions of workflow definitions: conditions, switches, loops, lists to go over, and what stands in `${…}` of a
// template. Pure: text and values in, a value or a mistake out. A part of expr-lang, which the reference's engine runs,
// with the same precedences: what has a value there has the same here, or is refused. More has a value here: a member
// of nil or an element that is not there, and `&&`, `||` and `!` of what is no boolean.
//
// 1. Nothing here recurses further than `ExpressionLimits::depth` times a constant, does more than `steps` of work, or
//    makes more than `bytes` of text, whatever is written in an expression and whatever values it meets.
// 2. The same text and scope give the same value on every platform: whole numbers of 64 bits, doubles, no locale, no
//    clock.
//
//   values      nil, true, false, 1, 1.5e3, 'text', "text", [1, 2], {"key": 1, key: 2}
//   names       input, ctx, steps, item, loop: members of the scope; any other name, and any missing member, is nil
//   members     a.b, a?.b, a["b"], a[0], a[-1] (from the end); of nil and of what has no members: nil
//   operators   ?? (binds most), the signs + and -, * / %, ! and not, + and -,
//               == != < <= > >= in contains startsWith endsWith (the last four also after `not`), && and, || or,
//               ?: (binds least)
//   functions   length(x): elements of a list or map, bytes of a text, 0 of anything else, as the reference counts;
//               len(x): the same, but characters of a text, and refused for anything else;
//               first(x): the first element of a list, nil of anything else
//
// Whatever is true or false is so by `truthy`; `&&`, `||` and `!` give booleans. `==` compares by value, numbers
// whatever their form; `<` and the like take two numbers or two texts (by their bytes). `+` adds two numbers or joins
// two texts. A number that is whole and within 2^53 is a whole number, so 6 / 2 is 3 and 7 / 2 is 3.5; `%` has the sign
// of its left side. Division by zero, and what does not fit 64 bits or a double, is a mistake and not a value.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::engine {

struct ExpressionLimits {
    /// Bytes of one expression, white space around it not counted. Default: the reference's WORKFLOW_EXPR_MAX_LENGTH.
    std::size_t length = 4096;
    /// Elements of the list or map that an expression yields. Default: the reference's WORKFLOW_EXPR_MAX_RESULT_ITEMS,
    /// which cuts a longer list off without a word; here it is refused.
    std::size_t items = 10'000;
    /// How deep brackets, signs and the branches of ?: may nest, and how deep values. Less than `wire::kJsonDepthMax`: a
    /// value has to stand inside the document of a run, which must still be readable.
    std::size_t depth = 48;
    /// Work of one evaluation: a step for each operator, each value that is copied or compared, and each 64 bytes of
    /// text. Some ten milliseconds.
    std::size_t steps = 1'000'000;
    /// Of every text that is made on the way, and of all texts and keys of the result. A document of a run is of that
    /// order.
    std::size_t bytes = 1024 * 1024;
};

struct ExpressionError {
    std::string what;        ///< In words, the place included: there is no function "lenght" at column 7; …
    std::size_t column = 0;  ///< In characters, from 1; 0: of the value as a whole, not of a place.
    std::string pointer{};   ///< Of a document of templates: the JSON pointer of the text that `column` counts in.
};

namespace expression {
struct Program;
}

/// An expression without mistakes of form. Copies share what was read.
class Expression {
public:
    [[nodiscard]] static tl::expected<Expression, ExpressionError> parse(std::string_view text,
                                                                         const ExpressionLimits& limits = {});

    /// `scope`: an object with the names that an expression may use; what is not in it is nil.
    [[nodiscard]] tl::expected<nlohmann::json, ExpressionError> evaluate(const nlohmann::json& scope) const;

private:
    explicit Expression(std::shared_ptr<const expression::Program> program);

    std::shared_ptr<const expression::Program> program_;
};

/// nil, false, "" and 0 are false. Everything else is true, an empty list and an empty map among it: so decides the
/// reference.
[[nodiscard]] bool truthy(const nlohmann::json& value);

/// Read and evaluated once.
[[nodiscard]] tl::expected<nlohmann::json, ExpressionError> evaluate(std::string_view text, const nlohmann::json& scope,
                                                                     const ExpressionLimits& limits = {});

}  // namespace lockstep::engine
