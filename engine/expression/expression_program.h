// What an expression is after it was read: instructions for a machine with a stack of values. A tree would be as deep
// as the text is long (`a + a + a + …`), and whoever walks it would have to recurse.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/expression/expression.h"

namespace lockstep::engine::expression {

enum class Op : std::uint8_t {
    constant,       ///< push constants[argument]
    variable,       ///< push the member constants[argument] of the scope
    member,         ///< replace the top by its member constants[argument]
    index,          ///< [value, index] → element
    list,           ///< `argument` values → a list
    map,            ///< `argument` values → a map, with the keys from constants[extra] on
    negate,         ///< -x
    affirm,         ///< +x
    invert,         ///< !x
    truth,          ///< the boolean that the top counts as
    binary,         ///< [left, right] → their combination by the BinaryOp `extra`
    call,           ///< replace the top by what the function `extra` makes of it
    jump,           ///< go on at `argument`
    branch_else,    ///< pop; if it counts as false, go on at `argument`
    branch_false,   ///< if the top counts as false, make it `false` and go on at `argument`, else pop
    branch_true,    ///< if the top counts as true, make it `true` and go on at `argument`, else pop
    branch_present  ///< if the top is not nil, go on at `argument`, else pop
};

struct Instruction {
    Op op;
    std::uint32_t argument = 0;
    std::uint32_t extra = 0;
    /// Of what it stands for in the text, in characters from 1.
    std::uint32_t column = 0;
};

/// Jumps go forward only, so a program ends after at most as many steps as it has instructions, with one value on the
/// stack.
struct Program {
    std::vector<Instruction> code;
    std::vector<nlohmann::json> constants;
    ExpressionLimits limits;
};

/// The program of a text whose first character stands in that column, or its first mistake.
[[nodiscard]] tl::expected<Program, ExpressionError> compiled(std::string_view text, const ExpressionLimits& limits,
                                                              std::uint32_t first_column = 1);

class Budget;

/// Its value. What it costs is taken from the budget; what becomes of it is for the caller to keep within bounds.
[[nodiscard]] tl::expected<nlohmann::json, ExpressionError> run(const Program& program, const nlohmann::json& scope,
                                                                Budget& budget);

}  // namespace lockstep::engine::expression
