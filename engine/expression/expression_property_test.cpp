// Drawn expressions, printed with no more brackets than they need (and sometimes with more), against an evaluation of
// the drawn tree that knows nothing of texts, stacks or jumps; and texts of any kind, which must be answered.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/expression/expression.h"
#include "engine/expression/expression_template.h"

namespace lockstep::engine {
namespace {

using Json = nlohmann::json;
/// Nothing: a mistake.
using Value = std::optional<Json>;

const Json& known_scope() {
    static const Json kScope = Json::parse(R"({
        "input": {"n": 3, "most": 9223372036854775807, "least": -9223372036854775808, "half": 0.5, "whole": 2.0,
                  "huge": 1e308,
                  "t": "aab", "list": [1, "a", null, [2]], "map": {"a": 1, "k": {"a": "b"}}, "yes": true, "none": null},
        "item": "a",
        "loop": {"index": 0}
    })");
    return kScope;
}

struct Node {
    std::string what;  // an operator, "literal", "path", "index", "list", "map", "call", "?:"
    std::string name;  // of a function, or the path as it is written
    Json value;        // of a literal
    std::vector<Node> parts;
    bool bracketed = false;  // in more brackets than it needs
};

// ----- printing

const std::map<std::string, int>& infixes() {
    static const std::map<std::string, int> kInfixes{
        {"||", 10},       {"or", 10},         {"&&", 15},       {"and", 15},          {"==", 20}, {"!=", 20},
        {"<", 20},        {"<=", 20},         {">", 20},        {">=", 20},           {"in", 20}, {"not in", 20},
        {"contains", 20}, {"startsWith", 20}, {"endsWith", 20}, {"not contains", 20}, {"+", 30},  {"-", 30},
        {"*", 60},        {"/", 60},          {"%", 60},        {"??", 500}};
    return kInfixes;
}

int strength(const Node& node) {
    if (node.what == "?:") return 0;
    if (node.what == "!" || node.what == "not") return 50;
    if (node.what == "neg" || node.what == "pos") return 90;
    if (const auto infix = infixes().find(node.what); infix != infixes().end()) return infix->second;
    return 1000;
}

std::string print(const Node& node);

/// In brackets where it would bind too weakly to stand there by itself.
std::string part(const Node& node, int least) {
    const std::string text = print(node);
    return strength(node) < least || node.bracketed ? "( " + text + ")" : text;
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

std::string print(const Node& node) {
    if (node.what == "literal") return node.value.is_null() ? "nil" : node.value.dump();
    if (node.what == "path") return node.name;
    if (node.what == "index") return part(node.parts[0], 1000) + "[" + print(node.parts[1]) + "]";
    if (node.what == "call") return node.name + "(" + print(node.parts[0]) + ")";
    if (node.what == "?:")
        return part(node.parts[0], 1) + " ? " + part(node.parts[1], 0) + ":" + part(node.parts[2], 0);
    if (node.what == "list" || node.what == "map") {
        std::string text;
        for (std::size_t i = 0; i < node.parts.size(); ++i) {
            if (i > 0) text += ", ";
            if (node.what == "map")
                text +=
                    (i % 2 == 0 ? std::string(1, 'a' + static_cast<char>(i)) : quoted("k" + std::to_string(i))) + ":";
            text += print(node.parts[i]);
        }
        return node.what == "list" ? "[" + text + "]" : "{" + text + "}";
    }
    if (node.what == "!" || node.what == "not") return node.what + " " + part(node.parts[0], 50);
    if (node.what == "neg") return "-" + part(node.parts[0], 90);
    if (node.what == "pos") return "+" + part(node.parts[0], 90);
    // From the left: on the right, what binds equally tight needs brackets.
    return part(node.parts[0], strength(node)) + " " + node.what + " " + part(node.parts[1], strength(node) + 1);
}

// ----- what it means

bool counts_as_true(const Json& value) {
    return !(value.is_null() || value == Json(false) || value == Json("") || (value.is_number() && value == Json(0)));
}

Json tidy(double value) {
    if (std::abs(value) <= std::ldexp(1.0, 53) && std::floor(value) == value) return static_cast<std::int64_t>(value);
    return value;
}

Value checked(double value) { return std::isfinite(value) ? Value(tidy(value)) : std::nullopt; }

Json number(const Json& value) { return value.is_number_float() ? tidy(value.get<double>()) : value; }

Value arithmetic(const std::string& what, const Json& left, const Json& right) {
    if (what == "+" && left.is_string() && right.is_string()) return left.get<std::string>() + right.get<std::string>();
    if (!left.is_number() || !right.is_number()) return std::nullopt;
    const Json x = number(left);
    const Json y = number(right);
    const bool whole = x.is_number_integer() && y.is_number_integer();
    if (whole) {
        const auto a = x.get<std::int64_t>();
        const auto b = y.get<std::int64_t>();
        std::int64_t result = 0;
        if (what == "+") return __builtin_add_overflow(a, b, &result) ? std::nullopt : Value(result);
        if (what == "-") return __builtin_sub_overflow(a, b, &result) ? std::nullopt : Value(result);
        if (what == "*") return __builtin_mul_overflow(a, b, &result) ? std::nullopt : Value(result);
        if (b == 0) return std::nullopt;
        if (what == "%") return b == -1 ? Value(0) : Value(a % b);
        if (b == -1) return __builtin_sub_overflow(std::int64_t{0}, a, &result) ? std::nullopt : Value(result);
        if (a % b == 0) return a / b;
    }
    const double a = x.get<double>();
    const double b = y.get<double>();
    if (what == "+") return checked(a + b);
    if (what == "-") return checked(a - b);
    if (what == "*") return checked(a * b);
    if (what == "%" || b == 0) return std::nullopt;
    return checked(a / b);
}

/// Every number of the scope and of literals is a double, or is not equal to any double that occurs.
Value comparison(const std::string& what, const Json& left, const Json& right) {
    if (what == "==") return left == right;
    if (what == "!=") return left != right;
    if (!(left.is_number() && right.is_number()) && !(left.is_string() && right.is_string())) return std::nullopt;
    if (what == "<") return left < right;
    if (what == ">") return right < left;
    if (what == "<=") return left < right || left == right;
    return right < left || left == right;
}

Value search(const std::string& what, const Json& left, const Json& right) {
    if (what == "in") {
        if (right.is_null()) return false;
        if (right.is_object()) return left.is_string() && right.contains(left.get<std::string>());
        if (!right.is_array()) return std::nullopt;
        return std::find(right.begin(), right.end(), left) != right.end();
    }
    if (!left.is_string() || !right.is_string()) return std::nullopt;
    const auto text = left.get<std::string>();
    const auto sought = right.get<std::string>();
    if (what == "contains") return text.find(sought) != std::string::npos;
    if (what == "startsWith") return text.rfind(sought, 0) == 0;
    return text.size() >= sought.size() && text.substr(text.size() - sought.size()) == sought;
}

Value meaning(const Node& node);

Value element_of(const Json& value, const Json& index) {
    if (value.is_object()) {
        if (index.is_null()) return Json();
        if (!index.is_string()) return std::nullopt;
        return value.value(index.get<std::string>(), Json());
    }
    if (!value.is_array() || index.is_null()) return Json();
    const Json at = index.is_number() ? number(index) : Json();
    if (!at.is_number_integer()) return std::nullopt;
    for (std::size_t i = 0; i < value.size(); ++i)
        if (at == Json(i) || at == Json(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(value.size())))
            return value[i];
    return Json();
}

Value function_of(const std::string& name, const Json& value) {
    if (name == "first") return value.is_array() && !value.empty() ? value[0] : Json();
    if (value.is_array() || value.is_object()) return Json(value.size());
    if (value.is_string())
        return Json(value.get<std::string>().size());  // no text here has other characters than ASCII
    return name == "len" ? std::nullopt : Value(Json(0));
}

Value group(const Node& node) {
    Json whole = node.what == "list" ? Json::array() : Json::object();
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        const Value one = meaning(node.parts[i]);
        if (!one) return std::nullopt;
        if (node.what == "list")
            whole.push_back(*one);
        else
            whole[i % 2 == 0 ? std::string(1, 'a' + static_cast<char>(i)) : "k" + std::to_string(i)] = *one;
    }
    return whole;
}

Value meaning(const Node& node) {
    if (node.what == "literal") return node.value;
    if (node.what == "path") {
        Json value = known_scope();
        std::string rest = node.name;
        while (!rest.empty()) {
            const auto dot = rest.find('.');
            const std::string name = rest.substr(0, dot);
            value = value.is_object() ? value.value(name, Json()) : Json();
            rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
        }
        return value;
    }
    if (node.what == "list" || node.what == "map") return group(node);
    const Value first = meaning(node.parts[0]);
    if (!first) return std::nullopt;
    if (node.what == "?:") return meaning(node.parts[counts_as_true(*first) ? 1 : 2]);
    if (node.what == "call") return function_of(node.name, *first);
    if (node.what == "!" || node.what == "not") return !counts_as_true(*first);
    if (node.what == "pos" || node.what == "neg") {
        if (!first->is_number()) return std::nullopt;
        return arithmetic(node.what == "pos" ? "+" : "-", Json(0), *first);
    }
    const bool any = node.what == "||" || node.what == "or";
    const bool all = node.what == "&&" || node.what == "and";
    if ((any || all) && counts_as_true(*first) == any) return any;
    if (node.what == "??" && !first->is_null()) return first;
    const Value second = meaning(node.parts[1]);
    if (!second || node.what == "??") return second;
    if (any || all) return counts_as_true(*second);
    if (node.what == "index") return element_of(*first, *second);
    if (node.what.starts_with("not ")) {
        const Value found = search(node.what.substr(4), *first, *second);
        return found ? Value(!found->get<bool>()) : found;
    }
    switch (infixes().at(node.what)) {
        case 30:
        case 60: return arithmetic(node.what, *first, *second);
        default: break;
    }
    const bool sought =
        node.what == "in" || node.what == "contains" || node.what == "startsWith" || node.what == "endsWith";
    return sought ? search(node.what, *first, *second) : comparison(node.what, *first, *second);
}

// ----- drawing

/// What an operator can do something with: most of what is drawn blindly is a mistake.
enum class Wanted { anything, number, text };

Node drawn_leaf(Wanted wanted) {
    Node leaf;
    leaf.what = *rc::gen::element<std::string>("literal", "path");
    if (wanted == Wanted::number) {
        leaf.value = *rc::gen::element<Json>(0, 1, 2, 3, 7, 0.5, 1.5);
        leaf.name = *rc::gen::element<std::string>("input.n", "input.most", "input.least", "input.half", "input.whole",
                                                   "input.huge", "loop.index");
    } else if (wanted == Wanted::text) {
        leaf.value = *rc::gen::element<Json>("", "a", "ab", "b", "aabaab");
        leaf.name = *rc::gen::element<std::string>("input.t", "item", "input.map.k.a");
    } else {
        leaf.value = *rc::gen::element<Json>(nullptr, true, false, 0, 1, 2, "", "a", "k");
        leaf.name = *rc::gen::element<std::string>("input.list", "input.map", "input.map.k", "input.yes", "input.none",
                                                   "steps.a.output", "nobody", "item", "input.n");
    }
    return leaf;
}

Wanted wanted_by(const std::string& what) {
    static const std::string kNumbers = " + - * / % neg pos < <= > >= ";
    static const std::string kTexts = " contains startsWith endsWith not contains ";
    if (*rc::gen::inRange(0, 8) == 0) return Wanted::anything;
    if (kNumbers.find(" " + what + " ") != std::string::npos) {
        const bool texts = what.front() == '<' || what.front() == '>' || what == "+";
        return texts && *rc::gen::inRange(0, 6) == 0 ? Wanted::text : Wanted::number;
    }
    return kTexts.find(" " + what + " ") != std::string::npos ? Wanted::text : Wanted::anything;
}

Node drawn(int depth, Wanted wanted) {
    const int kind = depth == 0 ? 0 : *rc::gen::inRange(0, 20);
    if (kind < 3) return drawn_leaf(wanted);
    Node node;
    std::size_t parts = 2;
    if (wanted == Wanted::number && kind < 14) {
        node.what = *rc::gen::element<std::string>("+", "-", "*", "/", "%", "+", "-", "*", "??");
    } else if (wanted == Wanted::text && kind < 14) {
        node.what = *rc::gen::element<std::string>("+", "??");
    } else if (kind < 14) {
        std::vector<std::string> names;
        for (const auto& [name, precedence] : infixes()) names.push_back(name);
        node.what = *rc::gen::elementOf(names);
    } else if (kind < 16) {
        node.what = wanted == Wanted::number ? *rc::gen::element<std::string>("neg", "neg", "pos")
                                             : *rc::gen::element<std::string>("!", "not", "neg");
        parts = 1;
    } else if (kind == 16) {
        node.what = "?:";
        parts = 3;
    } else if (kind == 17) {
        node.what = "call";
        node.name = *rc::gen::element<std::string>("length", "len", "first");
        parts = 1;
    } else if (kind == 18) {
        node.what = "index";
    } else {
        node.what = *rc::gen::element<std::string>("list", "map");
        parts = *rc::gen::inRange<std::size_t>(0, 4);
    }
    const Wanted of_parts = node.what == "??" || node.what == "?:" ? wanted : wanted_by(node.what);
    for (std::size_t i = 0; i < parts; ++i) {
        const bool index = node.what == "index" && i == 1;
        node.parts.push_back(index ? drawn_leaf(*rc::gen::element(Wanted::number, Wanted::text, Wanted::anything))
                                   : drawn(depth - 1, of_parts));
    }
    node.bracketed = *rc::gen::inRange(0, 8) == 0;
    return node;
}

RC_GTEST_PROP(ExpressionProperty, MeansWhatItsTreeMeans, ()) {
    const Node tree = drawn(*rc::gen::inRange(1, 5), Wanted::anything);
    const std::string text = print(tree);
    RC_LOG() << text << '\n';
    const ExpressionLimits limits{.length = 100'000};
    const auto read = Expression::parse(text, limits);
    if (!read) RC_FAIL(read.error().what);
    const Value expected = meaning(tree);
    const auto value = read->evaluate(known_scope());
    RC_CLASSIFY(expected.has_value(), "has a value");
    RC_ASSERT(value.has_value() == expected.has_value());
    if (value) RC_ASSERT(value->dump() == expected->dump());
    // In a text it stands for the same.
    const auto filled = fill_template(Json("${" + text + "}"), known_scope(), limits);
    RC_ASSERT(filled.has_value() == value.has_value());
    if (value) RC_ASSERT(*filled == *value);
}

RC_GTEST_PROP(ExpressionProperty, AnswersWhateverIsAsked, ()) {
    std::string text;
    const int words = *rc::gen::inRange(0, 30);
    for (int i = 0; i < words; ++i)
        text += *rc::gen::element<std::string>("input", ".", "list", "[", "]", "(", ")", "{", "}", ":", ",", "?", "??",
                                               "?.", "'", "\"", "\\u00", "\\", "1", "0.5", "e9", " ", "not ", " in ",
                                               " and ", "==", "<", "-", "+", "*", "/", "%", "!", "&&", "||", "length",
                                               "first(", "nil", "${", "é", "\xff", "\x01", "'a'");
    if (const auto value = evaluate(text, known_scope())) {
        RC_ASSERT(!value->is_discarded());
    } else {
        RC_ASSERT(!value.error().what.empty());
        RC_ASSERT(value.error().column <= text.size() + 1);
    }
    const auto filled = fill_template(Json(text), known_scope());
    RC_ASSERT(filled.has_value() || !filled.error().what.empty());
}

}  // namespace
}  // namespace lockstep::engine
