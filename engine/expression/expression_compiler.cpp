#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/expression_functions.h"
#include "engine/expression/expression_lexer.h"
#include "engine/expression/expression_program.h"
#include "engine/expression/expression_words.h"
#include "engine/expression/utf8.h"
#include "engine/wire/text.h"

namespace lockstep::engine::expression {

namespace {

/// Recursive descent, as deep as brackets, signs and choices nest; within one bracket by precedence.
class Compiler {
public:
    Compiler(std::string_view text, const ExpressionLimits& limits, std::uint32_t first_column)
        : lexer_(text, first_column), ahead_(lexer_.next()) {
        program_.limits = limits;
    }

    tl::expected<Program, ExpressionError> compile() {
        if (!advance() || !choice()) return tl::unexpected(std::move(error_));
        if (token_.kind != Token::Kind::end) {
            (void)unexpected_here("an operator or the end");
            return tl::unexpected(std::move(error_));
        }
        return std::move(program_);
    }

private:
    // Each of these is false after a mistake, which is in `error_` then.

    bool advance() {
        if (!ahead_) return refuse(ahead_.error().column, ahead_.error().what);
        token_ = std::move(*ahead_);
        ahead_ = lexer_.next();
        return true;
    }

    [[nodiscard]] bool comes(std::string_view what) const { return ahead_ && ahead_->is(what); }

    bool refuse(std::size_t column, std::string what) {
        error_ = {std::move(what), column};
        return false;
    }

    bool unexpected_here(std::string_view expected) {
        const auto at = token_.column;
        if (token_.kind == Token::Kind::end)
            return refuse(at, fmt::format("expected {} at column {}, where the text ends", expected, at));
        return refuse(at, fmt::format("expected {} at column {}, found {}", expected, at, shown(token_.written)));
    }

    /// The bracket that closes what `opening` has opened.
    bool close(const Token& opening, std::string_view closing) {
        if (token_.is(closing)) return advance();
        if (token_.kind == Token::Kind::end)
            return refuse(opening.column,
                          fmt::format("\"{}\" at column {} is not closed", opening.written, opening.column));
        return unexpected_here(fmt::format("an operator or \"{}\"", closing));
    }

    // What may stand in brackets: a choice, or less.
    bool choice() {
        if (++depth_ > program_.limits.depth)
            return refuse(token_.column, fmt::format("what stands at column {} is nested deeper than {}", token_.column,
                                                     program_.limits.depth));
        if (!combination(0)) return false;
        if (token_.is("?")) {
            const Token question = token_;
            const std::size_t to_else = emit(Op::branch_else, question.column);
            if (!advance() || !choice()) return false;
            if (!token_.is(":")) {
                if (token_.kind != Token::Kind::end) return unexpected_here("an operator or \":\"");
                return refuse(question.column, fmt::format("\"?\" at column {} has no \":\"", question.column));
            }
            const std::size_t to_end = emit(Op::jump, question.column);
            land(to_else);
            if (!advance() || !choice()) return false;
            land(to_end);
        }
        --depth_;
        return true;
    }

    /// Values joined by operators that bind at least so tight.
    bool combination(int least) {
        if (!prefix()) return false;
        for (;;) {
            const bool inverted = token_.is("not");
            const Infix* infix = !inverted ? infix_of(token_) : ahead_ ? infix_of(*ahead_) : nullptr;
            if (infix == nullptr || (inverted && !infix->may_be_negated)) return no_operator_is_misspelt();
            if (infix->precedence < least) return true;
            if (inverted && !advance()) return false;
            const std::uint32_t column = token_.column;
            if (!advance()) return false;
            if (infix->op == Op::binary) {
                if (!combination(infix->precedence + 1)) return false;
                emit(Op::binary, column, 0, static_cast<std::uint32_t>(infix->binary));
                if (inverted) emit(Op::invert, column);
            } else {
                const std::size_t branch = emit(infix->op, column);
                if (!combination(infix->precedence + 1)) return false;
                if (infix->op != Op::branch_present) emit(Op::truth, column);
                land(branch);
            }
        }
    }

    bool no_operator_is_misspelt() {
        const auto at = token_.column;
        switch (token_.kind) {
            case Token::Kind::name:
                return refuse(at, fmt::format("there is no operator {} at column {}{}", shown(token_.written), at,
                                              operator_suggestion(token_.written)));
            case Token::Kind::number:
                if (!token_.written.starts_with('.')) return unexpected_here("an operator");
                (void)unexpected_here("an operator");
                error_.what += "; the first element of a list is [0]";
                return false;
            case Token::Kind::text: return unexpected_here("an operator");
            case Token::Kind::symbol:
                if (token_.is("(") || token_.is("{") || token_.is("!")) return unexpected_here("an operator");
                return true;
            case Token::Kind::end: return true;
        }
        return true;
    }

    bool prefix() {
        const bool invert = token_.is("!") || token_.is("not");
        const bool sign = token_.is("-") || token_.is("+");
        if (!invert && !sign) return value() && members();
        if (++depth_ > program_.limits.depth)
            return refuse(token_.column, fmt::format("what stands at column {} is nested deeper than {}", token_.column,
                                                     program_.limits.depth));
        const std::uint32_t column = token_.column;
        const Op op = invert ? Op::invert : token_.is("-") ? Op::negate : Op::affirm;
        if (!advance() || !combination(invert ? kNot : kSign)) return false;
        emit(op, column);
        --depth_;
        return true;
    }

    bool value() {
        const std::uint32_t column = token_.column;
        switch (token_.kind) {
            case Token::Kind::number:
            case Token::Kind::text: emit(Op::constant, column, constant(std::move(token_.value))); return advance();
            case Token::Kind::name: return name();
            case Token::Kind::symbol: break;
            case Token::Kind::end: return unexpected_here("a value");
        }
        const Token opening = token_;
        if (token_.is("(")) return advance() && choice() && close(opening, ")");
        if (token_.is("[")) return list(opening);
        if (token_.is("{")) return map(opening);
        return unexpected_here("a value");
    }

    bool name() {
        if (comes("(") && !is_word_of_the_language(token_)) return call();
        const std::uint32_t column = token_.column;
        if (token_.is("true") || token_.is("false"))
            emit(Op::constant, column, constant(token_.is("true")));
        else if (token_.is("nil"))
            emit(Op::constant, column, constant(nullptr));
        else if (is_word_of_the_language(token_))
            return unexpected_here("a value");
        else
            emit(Op::variable, column, constant(std::string(token_.written)));
        return advance();
    }

    bool call() {
        const Token called = token_;
        const auto number = function_number(called.written);
        if (!number)
            return refuse(called.column, fmt::format("there is no function {} at column {}{}", shown(called.written),
                                                     called.column, function_suggestion(called.written)));
        if (!advance()) return false;
        const Token opening = token_;
        std::size_t count = 0;
        if (!advance()) return false;
        while (count == 0 ? !token_.is(")") : token_.is(",")) {
            if (count > 0 && !advance()) return false;
            if (!choice()) return false;
            ++count;
        }
        if (!close(opening, ")")) return false;
        if (count != 1)
            return refuse(called.column, fmt::format("\"{}\" at column {} takes 1 value, and has {}", called.written,
                                                     called.column, count));
        emit(Op::call, called.column, 1, static_cast<std::uint32_t>(*number));
        return true;
    }

    bool list(const Token& opening) {
        std::uint32_t count = 0;
        if (!advance()) return false;
        while (count == 0 ? !token_.is("]") : token_.is(",")) {
            if (count > 0 && !advance()) return false;
            if (!choice()) return false;
            ++count;
        }
        emit(Op::list, opening.column, count);
        return close(opening, "]");
    }

    bool map(const Token& opening) {
        std::vector<std::string> keys;
        std::set<std::string> known;
        if (!advance()) return false;
        while (keys.empty() ? !token_.is("}") : token_.is(",")) {
            if (!keys.empty() && !advance()) return false;
            const bool text = token_.kind == Token::Kind::text;
            if (!text && token_.kind != Token::Kind::name) return unexpected_here("a key, a name or a text,");
            keys.push_back(text ? token_.value.get<std::string>() : std::string(token_.written));
            if (!known.insert(keys.back()).second)
                return refuse(token_.column, fmt::format("the key {} at column {} is there already", shown(keys.back()),
                                                         token_.column));
            if (!advance()) return false;
            if (!token_.is(":")) return unexpected_here("\":\" behind the key");
            if (!advance() || !choice()) return false;
        }
        const auto first = static_cast<std::uint32_t>(program_.constants.size());
        for (std::string& key : keys) (void)constant(std::move(key));
        emit(Op::map, opening.column, static_cast<std::uint32_t>(keys.size()), first);
        return close(opening, "}");
    }

    bool members() {
        for (;;) {
            const Token opening = token_;
            if (token_.is("?.") && comes("[") && !advance()) return false;
            if (token_.is("[")) {
                const Token bracket = token_;
                if (!advance() || !choice() || !close(bracket, "]")) return false;
                emit(Op::index, bracket.column);
            } else if (token_.is(".") || token_.is("?.")) {
                if (!advance()) return false;
                if (token_.kind != Token::Kind::name)
                    return unexpected_here(fmt::format("a name behind \"{}\"", opening.written));
                if (comes("("))
                    return refuse(token_.column,
                                  fmt::format("{} at column {} is a member, and only functions can be called",
                                              shown(token_.written), token_.column));
                emit(Op::member, token_.column, constant(std::string(token_.written)));
                if (!advance()) return false;
            } else {
                return true;
            }
        }
    }

    std::uint32_t constant(nlohmann::json value) {
        program_.constants.push_back(std::move(value));
        return static_cast<std::uint32_t>(program_.constants.size() - 1);
    }

    std::size_t emit(Op op, std::uint32_t column, std::uint32_t argument = 0, std::uint32_t extra = 0) {
        program_.code.push_back({op, argument, extra, column});
        return program_.code.size() - 1;
    }

    /// The jump that was emitted there leads to what is emitted next.
    void land(std::size_t jump) { program_.code[jump].argument = static_cast<std::uint32_t>(program_.code.size()); }

    Lexer lexer_;
    Token token_;
    /// What comes behind it; a mistake there counts when its turn has come.
    tl::expected<Token, ExpressionError> ahead_;
    std::size_t depth_ = 0;
    Program program_;
    ExpressionError error_;
};

}  // namespace

tl::expected<Program, ExpressionError> compiled(std::string_view text, const ExpressionLimits& limits,
                                                std::uint32_t first_column) {
    const auto column = [&](std::size_t place) { return first_column + column_of(text, place) - 1; };
    const std::string_view trimmed = wire::trim(text);
    if (trimmed.empty())
        return tl::unexpected(ExpressionError{
            fmt::format("expected an expression at column {}, where the text ends", first_column), first_column});
    // The instructions count in 32 bits.
    if (trimmed.size() > std::min<std::size_t>(limits.length, std::numeric_limits<std::int32_t>::max()))
        return tl::unexpected(
            ExpressionError{fmt::format("the expression at column {} has {} bytes, more than the {} that it may",
                                        first_column, trimmed.size(), limits.length),
                            first_column});
    if (const std::size_t bad = not_utf8(text); bad != std::string_view::npos)
        return tl::unexpected(
            ExpressionError{fmt::format("what stands at column {} is not UTF-8", column(bad)), column(bad)});
    if (const auto blocked = blocked_word(text)) {
        const std::uint32_t at = column(blocked->first);
        return tl::unexpected(ExpressionError{
            fmt::format("\"{}\" at column {} may not occur in an expression, not even as a part of a word",
                        blocked->second, at),
            at});
    }
    return Compiler(text, limits, first_column).compile();
}

}  // namespace lockstep::engine::expression
