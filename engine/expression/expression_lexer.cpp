#include "engine/expression/expression_lexer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "engine/expression/utf8.h"

namespace lockstep::engine::expression {

namespace {

using Json = nlohmann::json;
using Lexed = tl::expected<Token, ExpressionError>;

/// The longer before the shorter that it begins with.
constexpr std::array<std::string_view, 26> kSymbols{"??", "?.", "&&", "||", "==", "!=", "<=", ">=", "(",
                                                    ")",  "[",  "]",  "{",  "}",  ",",  ":",  "?",  ".",
                                                    "+",  "-",  "*",  "/",  "%",  "<",  ">",  "!"};

/// Operators of other languages, and what is meant by them here.
struct Foreign {
    std::string_view written;
    std::string_view meant;
};
constexpr std::array<Foreign, 15> kForeign{{{"===", "=="},
                                            {"!==", "!="},
                                            {"<>", "!="},
                                            {"=~", ""},
                                            {"=>", ">="},
                                            {"=<", "<="},
                                            {"**", ""},
                                            {"..", ""},
                                            {"<<", ""},
                                            {">>", ""},
                                            {"::", ""},
                                            {"//", "/"},
                                            {"=", "=="},
                                            {"&", "&&"},
                                            {"|", "||"}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

tl::unexpected<ExpressionError> mistake(std::uint32_t column, std::string what) {
    return tl::unexpected(ExpressionError{std::move(what), column});
}

void append_utf8(std::string& text, std::uint32_t code) {
    const auto put = [&text](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0U | code >> 6U);
        put(0x80U | (code & 0x3fU));
    } else if (code < 0x10000) {
        put(0xe0U | code >> 12U);
        put(0x80U | (code >> 6U & 0x3fU));
        put(0x80U | (code & 0x3fU));
    } else {
        put(0xf0U | code >> 18U);
        put(0x80U | (code >> 12U & 0x3fU));
        put(0x80U | (code >> 6U & 0x3fU));
        put(0x80U | (code & 0x3fU));
    }
}

/// The four hexadecimal digits behind `\u`.
std::optional<std::uint32_t> code_unit(std::string_view rest) {
    std::uint32_t unit = 0;
    if (rest.size() < 4) return std::nullopt;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + 4, unit, 16);
    if (problem != std::errc{} || end != rest.data() + 4) return std::nullopt;
    return unit;
}

/// What stands for an escape; `rest` begins behind the backslash and loses what was read. Nothing: there is no such
/// escape.
std::optional<std::uint32_t> unescaped(std::string_view& rest) {
    static constexpr std::string_view kLetters = "\"'\\/bfnrt";
    static constexpr std::string_view kMeant = "\"'\\/\b\f\n\r\t";
    if (rest.empty()) return std::nullopt;
    const char letter = rest.front();
    rest.remove_prefix(1);
    if (const auto known = kLetters.find(letter); known != std::string_view::npos)
        return static_cast<unsigned char>(kMeant[known]);
    if (letter != 'u') return std::nullopt;
    const auto high = code_unit(rest);
    if (!high || (*high >= 0xdc00 && *high < 0xe000)) return std::nullopt;
    rest.remove_prefix(4);
    if (*high < 0xd800 || *high >= 0xe000) return high;
    if (!rest.starts_with("\\u")) return std::nullopt;
    const auto low = code_unit(rest.substr(2));
    if (!low || *low < 0xdc00 || *low >= 0xe000) return std::nullopt;
    rest.remove_prefix(6);
    return 0x10000 + ((*high - 0xd800) << 10U) + (*low - 0xdc00);
}

}  // namespace

Lexed Lexer::next() {
    while (place_ < text_.size() && std::string_view(" \t\n\v\f\r").find(text_[place_]) != std::string_view::npos) {
        ++place_;
        ++column_;
    }
    if (place_ == text_.size()) return taken(Token::Kind::end, 0);
    const char c = text_[place_];
    const bool fraction = c == '.' && place_ + 1 < text_.size() && is_digit(text_[place_ + 1]);
    if (is_digit(c) || fraction) return number();
    if (c == '"' || c == '\'') return quoted();
    if (!is_name_start(c)) return symbol();
    const auto end = std::find_if_not(text_.begin() + static_cast<std::ptrdiff_t>(place_), text_.end(), is_name_part);
    return taken(Token::Kind::name, static_cast<std::size_t>(end - text_.begin()) - place_);
}

Token Lexer::taken(Token::Kind kind, std::size_t bytes) {
    Token token{kind, text_.substr(place_, bytes), column_};
    column_ += column_of(token.written, bytes) - 1;
    place_ += bytes;
    return token;
}

Lexed Lexer::number() {
    const char* const first = text_.data() + place_;
    const char* const last = text_.data() + text_.size();
    double real = 0;
    const auto [end, problem] = std::from_chars(first, last, real);
    // Whatever is stuck to it belongs to it: 0x10, 1_000, 5apples.
    const char* whole_end = std::find_if_not(end, last, is_name_part);
    if (whole_end != end)
        return mistake(column_, fmt::format("{} at column {} is no number",
                                            shown({first, static_cast<std::size_t>(whole_end - first)}), column_));
    const auto bytes = static_cast<std::size_t>(end - first);
    const std::uint32_t column = column_;
    Token token = taken(Token::Kind::number, bytes);
    const bool digits_only = std::ranges::all_of(token.written, is_digit);
    std::int64_t whole = 0;
    const bool fits = digits_only && std::from_chars(first, end, whole).ec == std::errc{};
    if (problem != std::errc{} || (digits_only && !fits))
        return mistake(column, fmt::format("the number {} at column {} is beyond {}", shown(token.written), column,
                                           digits_only ? "64 bits" : "the range of a double"));
    if (fits)
        token.value = whole;
    else
        token.value = real;
    return token;
}

Lexed Lexer::quoted() {
    const std::uint32_t column = column_;
    const char quote = text_[place_];
    std::string value;
    std::string_view rest = text_.substr(place_ + 1);
    const auto read = [this, &rest] { return text_.size() - rest.size() - place_; };
    while (!rest.empty() && rest.front() != quote) {
        if (rest.front() != '\\') {
            value.push_back(rest.front());
            rest.remove_prefix(1);
            continue;
        }
        const std::size_t escape = read();
        rest.remove_prefix(1);
        if (rest.empty()) break;
        const auto character = unescaped(rest);
        if (!character) return no_escape(escape);
        append_utf8(value, *character);
    }
    if (rest.empty())
        return mistake(column, fmt::format("the text that begins at column {} has no closing {}", column, quote));
    rest.remove_prefix(1);
    Token token = taken(Token::Kind::text, read());
    token.value = std::move(value);
    return token;
}

Lexed Lexer::no_escape(std::size_t behind) const {
    const std::uint32_t at = column_ + column_of(text_.substr(place_), behind) - 1;
    const std::string_view rest = text_.substr(place_ + behind);
    if (rest.starts_with("\\u"))
        return mistake(
            at, fmt::format("the escape \\u at column {} needs the four hexadecimal digits of a character, or two "
                            "such escapes for a pair",
                            at));
    const auto end = std::find_if_not(rest.begin() + 2, rest.end(), is_inside_character);
    return mistake(at, fmt::format("there is no escape {} at column {}", shown({rest.begin(), end}), at));
}

Lexed Lexer::symbol() {
    const std::string_view rest = text_.substr(place_);
    for (const Foreign& foreign : kForeign) {
        if (!rest.starts_with(foreign.written)) continue;
        // `==` and the like begin with a shorter one that is foreign.
        const bool known = std::ranges::any_of(kSymbols, [&](std::string_view symbol) {
            return symbol.size() > foreign.written.size() && rest.starts_with(symbol);
        });
        if (known) continue;
        return mistake(
            column_,
            fmt::format("there is no operator \"{}\" at column {}{}", foreign.written, column_,
                        foreign.meant.empty() ? std::string{} : fmt::format("; did you mean \"{}\"?", foreign.meant)));
    }
    // A choice between two numbers, `a ?.5:1`, is no member.
    if (rest.starts_with("?.") && rest.size() > 2 && is_digit(rest[2])) return taken(Token::Kind::symbol, 1);
    for (const std::string_view symbol : kSymbols)
        if (rest.starts_with(symbol)) return taken(Token::Kind::symbol, symbol.size());
    return mistake(column_, fmt::format("there is no operator {} at column {}", shown(rest.substr(0, 1)), column_));
}

std::uint32_t column_of(std::string_view text, std::size_t place) {
    return static_cast<std::uint32_t>(characters_of(text.substr(0, place))) + 1;
}

std::string shown(std::string_view written) {
    constexpr std::size_t kShownMax = 40;
    const std::string_view beginning = beginning_of(written, kShownMax);
    std::string text = "\"";
    for (const char c : beginning) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            text.push_back(c);
    }
    return text + (beginning.size() < written.size() ? "…\"" : "\"");
}

}  // namespace lockstep::engine::expression
