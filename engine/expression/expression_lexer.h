// The words of an expression, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "engine/expression/expression.h"

namespace lockstep::engine::expression {

struct Token {
    enum class Kind { end, name, number, text, symbol };

    Kind kind = Kind::end;
    /// As it is written; part of the text that is read.
    std::string_view written;
    /// In characters, from 1.
    std::uint32_t column = 1;
    /// Of a number or a text.
    nlohmann::json value{};

    [[nodiscard]] bool is(std::string_view what) const {
        return (kind == Kind::name || kind == Kind::symbol) && written == what;
    }
};

class Lexer {
public:
    /// REQUIRES: `text` is UTF-8, and outlives this and its tokens.
    Lexer(std::string_view text, std::uint32_t first_column) : text_(text), column_(first_column) {}

    /// At the end of the text, again and again its end.
    [[nodiscard]] tl::expected<Token, ExpressionError> next();

private:
    [[nodiscard]] Token taken(Token::Kind kind, std::size_t bytes);
    [[nodiscard]] tl::expected<Token, ExpressionError> number();
    [[nodiscard]] tl::expected<Token, ExpressionError> quoted();
    [[nodiscard]] tl::expected<Token, ExpressionError> symbol();
    /// The mistake in the text that is being read, so many bytes behind its beginning.
    [[nodiscard]] tl::expected<Token, ExpressionError> no_escape(std::size_t behind) const;

    std::string_view text_;
    std::size_t place_ = 0;
    std::uint32_t column_;
};

/// The column, from 1, of the character at this place.
[[nodiscard]] std::uint32_t column_of(std::string_view text, std::size_t place);

/// Something of the text as it can stand in a message: in quotes, not too long, every control character spelt out.
[[nodiscard]] std::string shown(std::string_view written);

}  // namespace lockstep::engine::expression
