// Drawn expressions, printed with no more brackets than they need (and sometimes with more), and texts of any kind: the engine's
// compiler and the judge's reader, which share nothing, give the same.
#include "sim/spec/expression_value.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/expression/expression.h"
#include "engine/expression/expression_template.h"

namespace lockstep::sim {
namespace {

using Json = nlohmann::json;

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

Scope judges_scope() { return Scope().with_members(known_scope()); }

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
                                                   "steps.a.output", "unknown", "item", "input.n");
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

/// The engine and the judge say the same of an expression, and of it in a template.
void expect_one_meaning(const std::string& text) {
    RC_LOG() << text << '\n';
    const auto engines = engine::evaluate(text, known_scope());
    const auto judges = value_of(text, judges_scope());
    if (!engines) RC_LOG() << engines.error().what << '\n';
    if (judges) RC_LOG() << judges->dump() << '\n';
    RC_ASSERT(engines.has_value() == judges.has_value());
    RC_CLASSIFY(judges.has_value(), "has a value");
    if (engines) RC_ASSERT(engines->dump() == judges->dump());
    if (!engines) RC_ASSERT(!engines.error().what.empty() && engines.error().column <= text.size() + 1);
    for (const Json& pattern :
         {Json("${" + text + "}"), Json("a ${" + text + "} b"), Json{{"k", {" ${" + text + "} "}}}}) {
        const auto filled = engine::fill_template(pattern, known_scope());
        const auto wanted = filled_in(pattern, judges_scope());
        RC_ASSERT(filled.has_value() == wanted.has_value());
        if (filled) RC_ASSERT(filled->dump() == wanted->dump());
    }
}

RC_GTEST_PROP(ExpressionValue, OfADrawnExpressionIsWhatTheEngineGives, ()) {
    expect_one_meaning(print(drawn(*rc::gen::inRange(1, 5), Wanted::anything)));
}

RC_GTEST_PROP(ExpressionValue, OfAnyTextIsWhatTheEngineGives, ()) {
    std::string text;
    const int words = *rc::gen::inRange(0, 30);
    for (int i = 0; i < words; ++i)
        text += *rc::gen::element<std::string>("input", ".", "list", "[", "]", "(", ")", "{", "}", ":", ",", "?", "??",
                                               "?.", "'", "\"", "\\u00", "\\", "1", "0.5", "e9", " ", "not ", " in ",
                                               " and ", "==", "<", "-", "+", "*", "/", "%", "!", "&&", "||", "length",
                                               "first(", "nil", "${", "é", "\x01", "'a'", "input.n", "exec");
    expect_one_meaning(text);
}

TEST(ExpressionValueTest, WhatIsLongerOrHasMoreThanItMayIsAMistake) {
    EXPECT_EQ(value_of("input.t", judges_scope(), {.bytes = 7}), "aab");
    EXPECT_EQ(value_of("input.t", judges_scope(), {.bytes = 6}), std::nullopt);
    EXPECT_EQ(value_of("[1, 2]", judges_scope(), {.items = 2}), Json({1, 2}));
    EXPECT_EQ(value_of("[1, 2]", judges_scope(), {.items = 1}), std::nullopt);
}

TEST(ExpressionValueTest, BracesAroundAConditionDoNotCount) {
    EXPECT_EQ(without_braces(" ${ input.n } "), "input.n");
    EXPECT_EQ(without_braces("input.n"), "input.n");
}

}  // namespace
}  // namespace lockstep::sim
