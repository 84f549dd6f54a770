#include "sim/spec/expression_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "engine/wire/json_text.h"
#include "engine/wire/text.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

using nlohmann::json;

namespace {

using Value = std::optional<json>;  // nothing: a mistake

/// A whole number that a double holds exactly is one, whatever its form.
struct Number {
    bool whole = false;
    __int128 integer = 0;
    double real = 0;
};

Number number_of(const json& value) {
    constexpr double kExact = 9007199254740992.0;
    if (value.is_number_unsigned()) {
        const auto integer = value.get<std::uint64_t>();
        return {true, integer, static_cast<double>(integer)};
    }
    if (value.is_number_integer()) {
        const auto integer = value.get<std::int64_t>();
        return {true, integer, static_cast<double>(integer)};
    }
    const auto real = value.get<double>();
    const bool whole = std::abs(real) <= kExact && std::trunc(real) == real;
    return {whole, whole ? static_cast<__int128>(real) : 0, real};
}

bool fits(__int128 integer) {
    return integer >= std::numeric_limits<std::int64_t>::min() && integer <= std::numeric_limits<std::int64_t>::max();
}

Value whole_value(__int128 integer) { return fits(integer) ? Value(static_cast<std::int64_t>(integer)) : std::nullopt; }

Value real_value(double real) {
    if (!std::isfinite(real)) return std::nullopt;
    const Number number = number_of(real);
    return number.whole ? whole_value(number.integer) : Value(real);
}

Value arithmetic(char what, const json& left, const json& right) {
    if (what == '+' && left.is_string() && right.is_string()) return left.get<std::string>() + right.get<std::string>();
    if (!left.is_number() || !right.is_number()) return std::nullopt;
    const Number a = number_of(left), b = number_of(right);
    if (what == '%') return a.whole && b.whole && b.integer != 0 ? whole_value(a.integer % b.integer) : std::nullopt;
    const bool exact = a.whole && b.whole && fits(a.integer) && fits(b.integer);
    if (what == '/') {
        if (b.real == 0) return std::nullopt;
        return exact && a.integer % b.integer == 0 ? whole_value(a.integer / b.integer) : real_value(a.real / b.real);
    }
    if (what == '+') return exact ? whole_value(a.integer + b.integer) : real_value(a.real + b.real);
    if (what == '-') return exact ? whole_value(a.integer - b.integer) : real_value(a.real - b.real);
    return exact ? whole_value(a.integer * b.integer) : real_value(a.real * b.real);
}

/// Below zero where the left one is less.
int order_of(const Number& left, const Number& right) {
    const auto order = [](auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; };
    if (left.whole && right.whole) return order(left.integer, right.integer);
    if (!left.whole && !right.whole) return order(left.real, right.real);
    if (!left.whole) return -order_of(right, left);
    constexpr double kBeyond = 18446744073709551616.0;
    if (std::abs(right.real) >= kBeyond) return right.real > 0 ? -1 : 1;
    const double whole = std::trunc(right.real);
    return left.integer == static_cast<__int128>(whole) ? order(whole, right.real)
                                                        : order(left.integer, static_cast<__int128>(whole));
}

bool same(const json& left, const json& right) {
    if (left.is_number() && right.is_number()) return order_of(number_of(left), number_of(right)) == 0;
    if (left.type() != right.type()) return false;
    if (!left.is_structured()) return left == right;
    if (left.size() != right.size()) return false;
    if (left.is_array()) return std::equal(left.begin(), left.end(), right.begin(), same);
    return std::ranges::all_of(left.items(), [&right](const auto& member) {
        const auto other = right.find(member.key());
        return other != right.end() && same(member.value(), *other);
    });
}

Value order(std::string_view what, const json& left, const json& right) {
    int order = 0;
    if (left.is_number() && right.is_number())
        order = order_of(number_of(left), number_of(right));
    else if (left.is_string() && right.is_string())
        order = left.get_ref<const std::string&>().compare(right.get_ref<const std::string&>());
    else
        return std::nullopt;
    return what == "<" ? order < 0 : what == "<=" ? order <= 0 : what == ">" ? order > 0 : order >= 0;
}

Value holds(std::string_view what, const json& left, const json& right) {
    if (what == "in") {
        if (right.is_null()) return false;
        if (right.is_object()) return left.is_string() && right.contains(left.get_ref<const std::string&>());
        if (!right.is_array()) return std::nullopt;
        return std::ranges::any_of(right, [&left](const json& one) { return same(left, one); });
    }
    if (!left.is_string() || !right.is_string()) return std::nullopt;
    const auto& text = left.get_ref<const std::string&>();
    const auto& sought = right.get_ref<const std::string&>();
    if (what == "contains") return text.find(sought) != std::string::npos;
    return what == "startsWith" ? text.starts_with(sought) : text.ends_with(sought);
}

Value element(const json& of, const json& at) {
    if (of.is_object())
        return at.is_string() ? Value(member_of(of, at.get_ref<const std::string&>()))
               : at.is_null() ? Value(json())
                              : std::nullopt;
    if (!of.is_array() || at.is_null()) return json();
    const Number place = at.is_number() ? number_of(at) : Number{};
    if (!place.whole) return std::nullopt;
    const auto size = static_cast<__int128>(of.size());
    const __int128 index = place.integer < 0 ? place.integer + size : place.integer;
    return index < 0 || index >= size ? json() : of[static_cast<std::size_t>(index)];
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

Value called(std::string_view function, const json& value) {
    if (function == "first") return value.is_array() && !value.empty() ? value[0] : json();
    if (value.is_structured()) return value.size();
    if (!value.is_string()) return function == "len" ? std::nullopt : Value(0);
    const auto& text = value.get_ref<const std::string&>();
    return function == "len" ? characters(text) : text.size();
}

bool is_space(char c) { return std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}
bool is_of_name(char c) { return begins_name(c) || is_digit(c); }

struct Infix {
    std::string_view name;
    int strength;
};
/// The longer before the shorter that it begins with.
constexpr std::array<Infix, 21> kInfixes{
    {{"??", 500}, {"||", 10},  {"&&", 15}, {"==", 20},       {"!=", 20},         {"<=", 20},       {">=", 20},
     {"<", 20},   {">", 20},   {"+", 30},  {"-", 30},        {"*", 60},          {"/", 60},        {"%", 60},
     {"or", 10},  {"and", 15}, {"in", 20}, {"contains", 20}, {"startsWith", 20}, {"endsWith", 20}, {"not", 20}}};
constexpr int kNot = 50, kSign = 90;
constexpr int kNestingMax = 48;

bool is_word(std::string_view name) {
    return name == "nil" || name == "true" || name == "false" ||
           std::ranges::any_of(kInfixes, [name](const Infix& one) { return one.name == name; });
}

/// Reads an expression and gives its value, from the left to the right. What does not count, since its side of an operator is not
/// asked, is read all the same and gives nil.
class Reader {
public:
    Reader(std::string_view text, const Scope& scope) : rest_(text), scope_(scope) {}

    Value all() {
        Value value = choice(true);
        skip_space();
        return ok_ && rest_.empty() ? value : std::nullopt;
    }

private:
    // Each of these leaves `ok_` false after a mistake, of whichever kind, and gives nil then.

    json mistake() {
        ok_ = false;
        return {};
    }
    json checked(Value value) { return value ? std::move(*value) : mistake(); }

    void skip_space() {
        while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
    }
    bool comes(std::string_view symbol) {
        skip_space();
        return rest_.starts_with(symbol);
    }
    bool take(std::string_view symbol) {
        if (!comes(symbol)) return false;
        rest_.remove_prefix(symbol.size());
        return true;
    }
    void need(std::string_view symbol) { ok_ = ok_ && take(symbol); }
    /// Empty where something else comes.
    [[nodiscard]] std::string_view name_ahead() {
        skip_space();
        if (rest_.empty() || !begins_name(rest_.front())) return {};
        return rest_.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_of_name) - rest_.begin()));
    }
    std::string_view take_name() {
        const std::string_view name = name_ahead();
        rest_.remove_prefix(name.size());
        return name;
    }

    /// Brackets, signs and the branches of ?: that are open here.
    bool go_deeper() { return ok_ = ok_ && ++depth_ <= kNestingMax; }

    json choice(bool counts) {
        if (!go_deeper()) return {};
        json value = combination(0, counts);
        if (ok_ && comes("?") && !comes("??") && !comes("?.")) value = branch(std::move(value), counts);
        --depth_;
        return value;
    }

    json branch(const json& value, bool counts) {
        need("?");
        const bool holds = is_true(value);
        json first = choice(counts && holds);
        need(":");
        json second = ok_ ? choice(counts && !holds) : json();
        return holds ? first : second;
    }

    /// The operator that comes, if it binds so tight. Empty name: none.
    [[nodiscard]] Infix infix_ahead(int least) {
        const std::string_view name = name_ahead();
        skip_space();
        for (const Infix& one : kInfixes) {
            const bool is_it = begins_name(one.name.front()) ? name == one.name : rest_.starts_with(one.name);
            if (is_it) return one.strength >= least ? one : Infix{};
        }
        return {};
    }

    json combination(int least, bool counts) {
        json left = prefix(counts);
        while (ok_) {
            Infix infix = infix_ahead(least);
            if (infix.name.empty()) break;
            rest_.remove_prefix(infix.name.size());
            const bool negated = infix.name == "not";
            if (negated) {
                infix = infix_ahead(0);
                if (infix.name != "in" && infix.name != "contains" && !infix.name.ends_with("With")) return mistake();
                rest_.remove_prefix(infix.name.size());
            }
            left = joined(infix, std::move(left), counts);
            if (negated && counts && ok_) left = !left.get<bool>();
        }
        return left;
    }

    json joined(const Infix& infix, json left, bool counts) {
        const std::string_view what = infix.name;
        const bool any = what == "||" || what == "or", all = what == "&&" || what == "and";
        const bool decided =
            counts && ((any && is_true(left)) || (all && !is_true(left)) || (what == "??" && !left.is_null()));
        json right = combination(infix.strength + 1, counts && !decided);
        if (!ok_ || !counts) return {};
        if (any || all) return decided ? any : is_true(right);
        if (what == "??") return decided ? left : right;
        if (what == "==" || what == "!=") return same(left, right) == (what == "==");
        if (what.front() == '<' || what.front() == '>') return checked(order(what, left, right));
        if (begins_name(what.front())) return checked(holds(what, left, right));
        return checked(arithmetic(what.front(), left, right));
    }

    json prefix(bool counts) {
        const bool inverts = name_ahead() == "not" || comes("!");
        const bool negates = comes("-");
        if (!inverts && !negates && !comes("+")) return members(value(counts), counts);
        rest_.remove_prefix(name_ahead() == "not" ? 3 : 1);
        if (!go_deeper()) return {};
        json value = combination(inverts ? kNot : kSign, counts);
        --depth_;
        if (!ok_ || !counts) return {};
        if (inverts) return !is_true(value);
        if (!value.is_number()) return mistake();
        const Number number = number_of(value);
        if (!negates && number.whole && !fits(number.integer)) return value;
        if (!negates) return checked(number.whole ? whole_value(number.integer) : real_value(number.real));
        return checked(number.whole ? whole_value(-number.integer) : real_value(-number.real));
    }

    json members(json value, bool counts) {
        while (ok_) {
            skip_space();
            const bool optional = rest_.starts_with("?.");
            const bool fraction = rest_.size() > 1 && rest_.front() == '.' && is_digit(rest_[1]);
            if (fraction) return mistake();
            if (!optional && !rest_.starts_with(".") && !rest_.starts_with("[")) return value;
            if (optional || rest_.front() == '.') rest_.remove_prefix(optional ? 2 : 1);
            const bool by_index = comes("[") && (optional || rest_.front() == '[');
            if (by_index) {
                need("[");
                const json at = choice(counts);
                need("]");
                value = ok_ && counts ? checked(element(value, at)) : json();
                continue;
            }
            const std::string name(take_name());
            if (name.empty() || comes("(")) return mistake();
            value = counts ? json(member_of(value, name)) : json();
        }
        return {};
    }

    json value(bool counts) {
        skip_space();
        if (rest_.empty()) return mistake();
        const char c = rest_.front();
        if (is_digit(c) || (c == '.' && rest_.size() > 1 && is_digit(rest_[1]))) return number();
        if (c == '"' || c == '\'') return text();
        if (take("(")) {
            json inner = choice(counts);
            need(")");
            return inner;
        }
        if (take("[")) return list(counts);
        if (take("{")) return map(counts);
        return named(counts);
    }

    json named(bool counts) {
        const std::string name(take_name());
        if (name.empty()) return mistake();
        if (is_word(name)) {
            if (name == "true" || name == "false") return name == "true";
            return name == "nil" ? json() : mistake();
        }
        if (!take("(")) return counts ? member_named(scope_[name]) : json();
        if (name != "length" && name != "len" && name != "first") return mistake();
        const json argument = choice(counts);
        need(")");
        return ok_ && counts ? checked(called(name, argument)) : json();
    }

    /// With the members behind it that are only named, so that no more is copied than is meant.
    json member_named(const json& whole) {
        const json* part = &whole;
        while (rest_.size() > 1 && rest_.front() == '.' && begins_name(rest_[1])) {
            const std::string_view before = std::exchange(rest_, rest_.substr(1));
            const std::string_view name = take_name();
            if (comes("(")) {
                rest_ = before;
                break;
            }
            part = &member_of(*part, name);
        }
        return *part;
    }

    json list(bool counts) {
        json list = json::array();
        if (take("]")) return list;
        do list.push_back(choice(counts));
        while (ok_ && take(","));
        need("]");
        return list;
    }

    json map(bool counts) {
        json map = json::object();
        if (take("}")) return map;
        do {
            skip_space();
            const bool quoted = !rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'');
            const std::string key = quoted ? text_or_empty() : std::string(take_name());
            if (!ok_ || (key.empty() && !quoted) || map.contains(key)) return mistake();
            need(":");
            if (ok_) map[key] = choice(counts);
        } while (ok_ && take(","));
        need("}");
        return map;
    }

    json number() {
        const std::size_t whole = rest_.find_first_not_of("0123456789");
        std::size_t end = std::min(whole, rest_.size());
        const auto digits = [this, &end] {
            while (end < rest_.size() && is_digit(rest_[end])) ++end;
        };
        if (end < rest_.size() && rest_[end] == '.') {
            ++end;
            digits();
        }
        if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
            const std::size_t sign = end + 1 < rest_.size() && (rest_[end + 1] == '+' || rest_[end + 1] == '-') ? 2 : 1;
            if (end + sign < rest_.size() && is_digit(rest_[end + sign])) {
                end += sign;
                digits();
            }
        }
        if (end < rest_.size() && is_of_name(rest_[end])) return mistake();
        const std::string written(rest_.substr(0, end));
        rest_.remove_prefix(end);
        if (written.find_first_not_of("0123456789") == std::string::npos) {
            __int128 integer = 0;
            for (const char c : written) {
                integer = 10 * integer + (c - '0');
                if (!fits(integer)) return mistake();
            }
            return static_cast<std::int64_t>(integer);
        }
        const double real = std::strtod(written.c_str(), nullptr);
        const bool lost = real == 0 && written.find_first_of("123456789") < written.find_first_of("eE");
        return std::isfinite(real) && !lost ? json(real) : mistake();
    }

    json text() {
        std::string text = text_or_empty();
        return ok_ ? json(std::move(text)) : json();
    }

    /// A JSON text is read by the JSON library, whichever quotes it stands in.
    std::string text_or_empty() {
        const char quote = rest_.front();
        std::string inner;
        std::size_t place = 1;
        for (; place < rest_.size() && rest_[place] != quote; ++place) {
            const char c = rest_[place];
            if (c == '\\' && ++place < rest_.size()) {
                inner += rest_[place] == '\'' ? "'" : std::string{'\\', rest_[place]};
            } else if (c == '"') {
                inner += "\\\"";
            } else if (static_cast<unsigned char>(c) < 0x20) {
                constexpr std::string_view kHex = "0123456789abcdef";
                inner += std::string("\\u00") + kHex[static_cast<unsigned char>(c) >> 4U] + kHex[c & 0xf];
            } else {
                inner += c;
            }
        }
        const json read = json::parse('"' + inner + '"', nullptr, false);
        if (place >= rest_.size() || !read.is_string()) {
            ok_ = false;
            return {};
        }
        rest_.remove_prefix(place + 1);
        return read.get<std::string>();
    }

    std::string_view rest_;
    const Scope& scope_;
    int depth_ = 0;
    bool ok_ = true;
};

/// Whatever they stand in.
bool has_blocked_word(std::string_view text) {
    const std::string lowered = engine::wire::ascii_lower(text);
    constexpr std::array<std::string_view, 10> kBlocked{"import", "require", "reflect",     "unsafe",    "runtime",
                                                        "exec",   "os.exit", "constructor", "prototype", "__proto__"};
    return std::ranges::any_of(kBlocked,
                               [&lowered](std::string_view word) { return lowered.find(word) != std::string::npos; });
}

/// Where the expression ends that begins here; npos: nowhere.
std::size_t end_of_expression(std::string_view text, std::size_t from) {
    char quote = 0;
    int open = 0;
    for (std::size_t place = from; place < text.size(); ++place) {
        const char c = text[place];
        if (quote != 0) {
            if (c == '\\') ++place;
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '{') {
            ++open;
        } else if (c == '}' && open-- == 0) {
            return place;
        }
    }
    return std::string_view::npos;
}

std::string as_text(const json& value) {
    if (value.is_null()) return {};
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_number_float()) return engine::wire::json_text(value);
    return engine::wire::json_text(real_value(value.get<double>()).value_or(value));
}

Value filled_text(std::string_view text, const Scope& scope, const ExpressionBounds& bounds) {
    const std::string_view trimmed = engine::wire::trim(text);
    if (trimmed.starts_with("${") && end_of_expression(trimmed, 2) == trimmed.size() - 1)
        return value_of(trimmed.substr(2, trimmed.size() - 3), scope, bounds);
    std::string filled;
    while (true) {
        const std::size_t opening = text.find("${");
        filled += text.substr(0, opening);
        if (opening == std::string_view::npos) return filled;
        const std::size_t closing = end_of_expression(text, opening + 2);
        if (closing == std::string_view::npos) return std::nullopt;
        const Value value = value_of(text.substr(opening + 2, closing - opening - 2), scope, bounds);
        if (!value) return std::nullopt;
        filled += as_text(*value);
        text.remove_prefix(closing + 1);
    }
}

}  // namespace

const json& Scope::operator[](std::string_view name) const {
    static const json kNil;
    for (const auto& [known, value] : values_)
        if (known == name) return *value;
    return kNil;
}

bool is_true(const json& value) {
    return !value.is_null() && value != false && value != "" && !(value.is_number() && value == 0);
}

std::string_view without_braces(std::string_view text) {
    const std::string_view bare = engine::wire::trim(text);
    if (!bare.starts_with("${") || !bare.ends_with("}")) return bare;
    return engine::wire::trim(bare.substr(2, bare.size() - 3));
}

std::optional<json> value_of(std::string_view expression, const Scope& scope, const ExpressionBounds& bounds) {
    const std::string_view trimmed = engine::wire::trim(expression);
    if (trimmed.empty() || trimmed.size() > bounds.bytes || has_blocked_word(trimmed)) return std::nullopt;
    Value value = Reader(trimmed, scope).all();
    return value && value->is_structured() && value->size() > bounds.items ? std::nullopt : value;
}

std::optional<json> filled_in(const json& pattern, const Scope& scope, const ExpressionBounds& bounds) {
    if (pattern.is_string()) return filled_text(pattern.get_ref<const std::string&>(), scope, bounds);
    if (!pattern.is_structured() || pattern.empty()) return pattern;
    json filled = pattern.is_array() ? json::array() : json::object();
    for (const auto& [name, one] : pattern.items()) {
        auto value = filled_in(one, scope, bounds);
        if (!value) return std::nullopt;
        if (pattern.is_array())
            filled.push_back(std::move(*value));
        else if (!value->is_null() || one.is_null())
            filled[name] = std::move(*value);
    }
    return filled;
}

}  // namespace lockstep::sim
