#include "engine/expression/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::engine {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Json& scope() {
    static const Json kScope = Json::parse(R"({
        "input": {"n": 3, "x": 2.5, "whole": 4.0, "t": "grüße", "list": [10, "a", null, [1]],
                  "map": {"k": "v", "in": 7},
                  "most": 9223372036854775807, "least": -9223372036854775808, "beyond": 18446744073709551615,
                  "below": 18446744073709551614, "huge": 1e308, "größe": 9, "off": false, "none": null},
        "ctx": {"a b": 1},
        "steps": {"build-it": {"output": {"ok": true}}}
    })");
    return kScope;
}

/// The value as JSON, or what is wrong.
std::string outcome(const std::string& text, const ExpressionLimits& limits = {}) {
    const auto value = evaluate(text, scope(), limits);
    return value ? value->dump() : value.error().what;
}

ExpressionError mistake(const std::string& text, const ExpressionLimits& limits = {}) {
    const auto value = evaluate(text, scope(), limits);
    EXPECT_FALSE(value) << text << " is " << value->dump();
    return value ? ExpressionError{} : value.error();
}

TEST(Expression, ReadsLiterals) {
    EXPECT_EQ(outcome("nil"), "null");
    EXPECT_EQ(outcome(" true "), "true");
    EXPECT_EQ(outcome("42"), "42");
    EXPECT_EQ(outcome(".5"), "0.5");
    EXPECT_EQ(outcome("1.5e3"), "1500.0");
    EXPECT_EQ(outcome(R"('it''s')"), "expected an operator at column 5, found \"'s'\"");
    EXPECT_EQ(outcome(R"('say "hi"')"), R"("say \"hi\"")");
    EXPECT_EQ(outcome(R"("a\"\n\/\u00e9\ud83d\ude00")"), "\"a\\\"\\n/é😀\"");
    EXPECT_EQ(outcome("[1, 'a', [], {}]"), R"([1,"a",[],{}])");
    EXPECT_EQ(outcome(R"({a: 1, "b c": {d: nil}, in: 2})"), R"({"a":1,"b c":{"d":null},"in":2})");
}

TEST(Expression, FindsMembersAndElements) {
    EXPECT_EQ(outcome("input.n"), "3");
    EXPECT_EQ(outcome("input['t']"), "\"grüße\"");
    EXPECT_EQ(outcome("steps[\"build-it\"].output.ok"), "true");
    EXPECT_EQ(outcome("input?.map?.['k']"), "\"v\"");
    EXPECT_EQ(outcome("input.map.in"), "7");
    EXPECT_EQ(outcome("input.größe"), "9");
    EXPECT_EQ(outcome("input.list[0] + input.list[-1][0]"), "11");
    EXPECT_EQ(outcome("input.list[input.whole - 3]"), "\"a\"");
    EXPECT_EQ(outcome("{a: [1, {b: 'deep'}]}.a[1].b"), "\"deep\"");
}

TEST(Expression, TakesWhatIsMissingForNil) {
    for (const char* text :
         {"nobody", "item", "loop.index", "input.nothing", "input.nothing.at['all'][0]", "input.list[4]",
          "input.list[-5]", "input.n.member", "input.none[0]", "input.t[0]", "input.map[nil]", "ctx.steps.x.output"})
        EXPECT_EQ(outcome(text), "null") << text;
}

TEST(Expression, KeepsThePrecedencesOfExprLang) {
    EXPECT_EQ(outcome("1 + 2 * 3 - 4"), "3");
    EXPECT_EQ(outcome("(1 + 2) * 3"), "9");
    EXPECT_EQ(outcome("10 - 4 - 3"), "3");
    EXPECT_EQ(outcome("100 / 10 / 5"), "2");
    EXPECT_EQ(outcome("-2 * 3 + -1"), "-7");
    EXPECT_EQ(outcome("1 + 1 == 2 and 2 < 3 or false"), "true");
    EXPECT_EQ(outcome("true || false && false"), "true");
    EXPECT_EQ(outcome("not false && false"), "false");
    EXPECT_EQ(outcome("! input.off == true"), "true");
    EXPECT_EQ(outcome("input.none ?? 4 + 1"), "5");
    EXPECT_EQ(outcome("-input.none ?? 4"), "-4");
    EXPECT_EQ(outcome("false ? 1 : true ? 2 : 3"), "2");
    EXPECT_EQ(outcome("true ? false ? 1 : 2 : 3"), "2");
    EXPECT_EQ(outcome("1 > 2 ? 'a' : 'b' + 'c'"), "\"bc\"");
    EXPECT_EQ(outcome("true?.5:1"), "0.5");
}

TEST(Expression, CountsInWholeNumbersAsLongAsItCan) {
    EXPECT_EQ(outcome("6 / 2"), "3");
    EXPECT_EQ(outcome("7 / 2"), "3.5");
    EXPECT_EQ(outcome("0.5 + 0.5"), "1");
    EXPECT_EQ(outcome("input.whole + 1"), "5");
    EXPECT_EQ(outcome("0 * -1.5"), "0");
    EXPECT_EQ(outcome("7 % 3"), "1");
    EXPECT_EQ(outcome("-7 % 3"), "-1");
    EXPECT_EQ(outcome("7 % -3"), "1");
    EXPECT_EQ(outcome("input.least % -1"), "0");
    EXPECT_EQ(outcome("input.beyond % 10"), "5");
    EXPECT_EQ(outcome("input.most - 1"), "9223372036854775806");
    EXPECT_EQ(outcome("0.1 + 0.2"), "0.30000000000000004");
    EXPECT_EQ(outcome("input.beyond + 0"), "1.8446744073709552e+19");
    EXPECT_EQ(outcome("input.beyond"), "18446744073709551615");
    EXPECT_EQ(outcome("9007199254740993 + 0"), "9007199254740993");
}

TEST(Expression, RefusesWhatNoNumberCanHold) {
    EXPECT_EQ(outcome("input.most + 1"), "\"+\" at column 12 gives a whole number beyond 64 bits");
    EXPECT_EQ(outcome("input.least - 1"), "\"-\" at column 13 gives a whole number beyond 64 bits");
    EXPECT_EQ(outcome("input.most * input.most"), "\"*\" at column 12 gives a whole number beyond 64 bits");
    EXPECT_EQ(outcome("-input.least"), "\"-\" at column 1 gives a whole number beyond 64 bits");
    EXPECT_EQ(outcome("input.least / -1"), "\"/\" at column 13 gives a whole number beyond 64 bits");
    EXPECT_EQ(outcome("input.huge * 10"), "\"*\" at column 12 gives a number beyond the range of a double");
    EXPECT_EQ(outcome("1 / 0"), "\"/\" at column 3 divides by zero");
    EXPECT_EQ(outcome("1.5 / (0.5 - 0.5)"), "\"/\" at column 5 divides by zero");
    EXPECT_EQ(outcome("1 % 0"), "\"%\" at column 3 divides by zero");
    EXPECT_EQ(outcome("1.5 % 2"), "\"%\" at column 5 needs two whole numbers");
    EXPECT_EQ(outcome("9223372036854775808"), "the number \"9223372036854775808\" at column 1 is beyond 64 bits");
    EXPECT_EQ(outcome("1 + 1e999"), "the number \"1e999\" at column 5 is beyond the range of a double");
}

TEST(Expression, ComparesNumbersExactlyAndTextsByTheirBytes) {
    EXPECT_EQ(outcome("1 == 1.0"), "true");
    EXPECT_EQ(outcome("input.beyond == input.below"), "false");
    EXPECT_EQ(outcome("input.below < input.beyond"), "true");
    EXPECT_EQ(outcome("9007199254740993 > 9007199254740992.0"), "true");
    EXPECT_EQ(outcome("input.most < 9223372036854775807.0"), "true");
    EXPECT_EQ(outcome("input.least == -9223372036854775808.0"), "true");
    EXPECT_EQ(outcome("input.huge > input.beyond and -input.huge < input.least"), "true");
    EXPECT_EQ(outcome("2.5 >= 2 && 2 <= 2.5 && -2.5 < -2"), "true");
    EXPECT_EQ(outcome("'a' < 'b' and 'a' < 'aa' and 'Z' < 'a'"), "true");
    EXPECT_EQ(outcome("1 == '1'"), "false");
    EXPECT_EQ(outcome("nil == false"), "false");
    EXPECT_EQ(outcome("[1, {a: 2.0}] == [1.0, {a: 2}]"), "true");
    EXPECT_EQ(outcome("{a: 1} != {b: 1}"), "true");
    EXPECT_EQ(outcome("1 < 'a'"), "\"<\" at column 3 needs two numbers or two texts, and has a number and a text");
    EXPECT_EQ(outcome("input.gone > 5"), "\">\" at column 12 needs two numbers or two texts, and has nil and a number");
}

TEST(Expression, LooksIntoTextsListsAndMaps) {
    EXPECT_EQ(outcome("'a' in input.list && 10.0 in input.list && nil in input.list && [1] in input.list"), "true");
    EXPECT_EQ(outcome("'k' in input.map and 'x' not in input.map"), "true");
    EXPECT_EQ(outcome("1 in input.map or 'k' in input.none"), "false");
    EXPECT_EQ(outcome("1 in 'text'"), "\"in\" at column 3 needs a list or a map behind it, and has a text");
    EXPECT_EQ(outcome("'aaab' contains 'aab' and 'aabaabaac' contains 'aabaac' and '' contains ''"), "true");
    EXPECT_EQ(outcome("'aabaab' contains 'aaab'"), "false");
    EXPECT_EQ(outcome("input.t startsWith 'gr' && input.t endsWith \"e\" && input.t not endsWith 'x'"), "true");
    EXPECT_EQ(outcome("input.none contains 'a'"), "\"contains\" at column 12 needs two texts, and has nil and a text");
    EXPECT_EQ(outcome("'a' + 1"), "\"+\" at column 5 needs two numbers or two texts, and has a text and a number");
    EXPECT_EQ(outcome("true - 1"), "\"-\" at column 6 needs two numbers, and has a boolean and a number");
    EXPECT_EQ(outcome("-'a'"), "\"-\" at column 1 needs a number, and has a text");
    EXPECT_EQ(outcome("input.list['a']"), "the index at column 11 of a list needs a whole number, and has a text");
    EXPECT_EQ(outcome("input.map[1]"), "the index at column 10 of a map needs a text, and has a number");
}

TEST(Expression, CallsItsFunctions) {
    EXPECT_EQ(outcome("length(input.list)"), "4");
    EXPECT_EQ(outcome("length(input.map)"), "2");
    EXPECT_EQ(outcome("length(input.t)"), "7");
    EXPECT_EQ(outcome("length(input.none) + length(5)"), "0");
    EXPECT_EQ(outcome("len(input.t)"), "5");
    EXPECT_EQ(outcome("len([1, 2])"), "2");
    EXPECT_EQ(outcome("len(nil)"), "\"len\" at column 1 needs a list, a map or a text, and has nil");
    EXPECT_EQ(outcome("first(input.list)"), "10");
    EXPECT_EQ(outcome("first([])"), "null");
    EXPECT_EQ(outcome("first('text')"), "null");
    EXPECT_EQ(outcome("first([{a: 5}]).a"), "5");
    EXPECT_EQ(outcome("length"), "null");
}

TEST(Expression, DecidesByTruthAndEvaluatesNoMoreThanItMust) {
    for (const char* text : {"nil", "false", "''", "0", "0.0", "nobody"}) {
        EXPECT_EQ(outcome(std::string(text) + " ? 1 : 2"), "2") << text;
        EXPECT_EQ(outcome("!" + std::string(text)), "true") << text;
    }
    for (const char* text : {"true", "'a'", "-1", "0.5", "[]", "{}", "input.map"})
        EXPECT_EQ(outcome(std::string(text) + " && true"), "true") << text;
    EXPECT_EQ(outcome("'a' || 1 / 0"), "true");
    EXPECT_EQ(outcome("0 && 1 / 0"), "false");
    EXPECT_EQ(outcome("0 ?? (1 / 0)"), "0");
    EXPECT_EQ(outcome("true ? 1 : 1 / 0"), "1");
    EXPECT_EQ(outcome("'a' and 'b'"), "true");
    EXPECT_FALSE(truthy(Json(std::uint64_t{0})));
    EXPECT_TRUE(truthy(Json(std::numeric_limits<std::uint64_t>::max())));
}

TEST(Expression, NamesTheMistakeAndItsColumn) {
    const ExpressionError error = mistake("1 == lenght(input.list)");
    EXPECT_EQ(error.what, "there is no function \"lenght\" at column 6; did you mean \"length\"?");
    EXPECT_EQ(error.column, 6U);
    EXPECT_EQ(outcome("filter(x)"), "there is no function \"filter\" at column 1; known: length, len, first");
    EXPECT_EQ(outcome("a = 1"), "there is no operator \"=\" at column 3; did you mean \"==\"?");
    EXPECT_EQ(outcome("a === 1"), "there is no operator \"===\" at column 3; did you mean \"==\"?");
    EXPECT_EQ(outcome("a & b"), "there is no operator \"&\" at column 3; did you mean \"&&\"?");
    EXPECT_EQ(outcome("2 ** 3"), "there is no operator \"**\" at column 3");
    EXPECT_EQ(outcome("a @ b"), "there is no operator \"@\" at column 3");
    EXPECT_EQ(outcome("a contain b"), "there is no operator \"contain\" at column 3; did you mean \"contains\"?");
    EXPECT_THAT(outcome("a matches b"), StartsWith("there is no operator \"matches\" at column 3; known: "));
    EXPECT_EQ(outcome("grüße foo 1"),
              "there is no operator \"foo\" at column 7; known: or, and, in, contains, startsWith, endsWith");
    EXPECT_EQ(outcome("1 +"), "expected a value at column 4, where the text ends");
    EXPECT_EQ(outcome("1 + in"), "expected a value at column 5, found \"in\"");
    EXPECT_EQ(outcome("(1 + 2"), "\"(\" at column 1 is not closed");
    EXPECT_EQ(outcome("[1, 2)"), "expected an operator or \"]\" at column 6, found \")\"");
    EXPECT_EQ(outcome("1)"), "expected an operator or the end at column 2, found \")\"");
    EXPECT_EQ(outcome("input.list.0"),
              "expected an operator at column 11, found \".0\"; the first element of a list is [0]");
    EXPECT_EQ(outcome("input."), "expected a name behind \".\" at column 7, where the text ends");
    EXPECT_EQ(outcome("a.b(1)"), "\"b\" at column 3 is a member, and only functions can be called");
    EXPECT_EQ(outcome("a ? b"), "\"?\" at column 3 has no \":\"");
    EXPECT_EQ(outcome("{a 1}"), "expected \":\" behind the key at column 4, found \"1\"");
    EXPECT_EQ(outcome("{a: 1, 'a': 2}"), "the key \"a\" at column 8 is there already");
    EXPECT_EQ(outcome("length(1, 2)"), "\"length\" at column 1 takes 1 value, and has 2");
    EXPECT_EQ(outcome("length()"), "\"length\" at column 1 takes 1 value, and has 0");
    EXPECT_EQ(outcome("0x10"), "\"0x10\" at column 1 is no number");
    EXPECT_EQ(outcome("'abc"), "the text that begins at column 1 has no closing '");
    EXPECT_EQ(outcome(R"('ü\q')"), R"(there is no escape "\q" at column 3)");
    EXPECT_THAT(outcome(R"('\ud800')"), StartsWith(R"(the escape \u at column 2 needs)"));
    EXPECT_EQ(outcome("  "), "expected an expression at column 1, where the text ends");
    EXPECT_EQ(outcome("'a\xff'"), "what stands at column 3 is not UTF-8");
    EXPECT_EQ(outcome("a \x01"), "there is no operator \"\\x01\" at column 3");
}

TEST(Expression, ReportsTheFirstMistake) {
    EXPECT_EQ(outcome("lenght(@"), "there is no function \"lenght\" at column 1; did you mean \"length\"?");
    EXPECT_EQ(outcome("1 2 @"), "expected an operator at column 3, found \"2\"");
}

TEST(Expression, RefusesWhatTheReferenceBlocks) {
    EXPECT_EQ(outcome("1 + Import"),
              "\"import\" at column 5 may not occur in an expression, not even as a part of a word");
    for (const char* text : {"input.required", "reflect", "unsafe", "'RUNTIME'", "steps.exec", "os.Exit", "a.__proto__",
                             "a.constructor", "prototype"})
        EXPECT_THAT(outcome(text), HasSubstr("may not occur in an expression")) << text;
    EXPECT_THAT(outcome("input.exec + import"), StartsWith("\"exec\" at column 7"));
}

TEST(Expression, KeepsItsLimits) {
    EXPECT_EQ(outcome(" 12345 ", {.length = 5}), "12345");
    EXPECT_EQ(outcome("123456", {.length = 5}), "the expression at column 1 has 6 bytes, more than the 5 that it may");
    EXPECT_EQ(outcome("[1, 2, 3]", {.items = 2}), "the expression yields 3 elements, more than the 2 that it may");
    EXPECT_EQ(outcome("length([1, 2, 3])", {.items = 2}), "3");
    EXPECT_EQ(outcome("'abc' + 'def'", {.bytes = 5}), "\"+\" at column 7 makes a text of more than 5 bytes");
    EXPECT_EQ(outcome("['abc', {k: 'def'}]", {.bytes = 6}), "the expression makes more than 6 bytes of text");
    EXPECT_EQ(outcome("1 + 1 + 1 + 1", {.steps = 5}),
              "what stands at column 13 takes more than the 5 steps of work that there are");
    EXPECT_EQ(outcome("((1))", {.depth = 3}), "1");
    EXPECT_EQ(outcome("((1))", {.depth = 2}), "what stands at column 3 is nested deeper than 2");
    EXPECT_EQ(outcome("[[[1]]]", {.depth = 4}), "[[[1]]]");
    EXPECT_EQ(outcome("input.list", {.depth = 2}), R"([10,"a",null,[1]])");
    EXPECT_EQ(outcome("input.list", {.depth = 1}), "the expression meets a value that is nested deeper than 1");
    EXPECT_EQ(outcome("input.list == input.list", {.depth = 1}),
              "\"==\" at column 12 meets a value that is nested deeper than 1");
}

TEST(Expression, StandsWhateverIsNested) {
    for (const std::string piece :
         {"(", "[", "{a:", "-", "!", "not ", "a ? ", "a ? b : ", "a[", "length(", "1 + (", "a ?? ("}) {
        std::string text;
        while (text.size() < 100'000) text += piece;
        EXPECT_THAT(mistake(text + "1", {.length = 200'000}).what, HasSubstr("nested deeper than 48")) << piece;
    }
    std::string long_sum = "1";
    for (int i = 0; i < 2000; ++i) long_sum += " + 1";
    EXPECT_EQ(outcome(long_sum, {.length = 100'000}), "2001");
    std::string long_path = "input";
    for (int i = 0; i < 2000; ++i) long_path += ".a[0]";
    EXPECT_EQ(outcome(long_path, {.length = 100'000}), "null");
}

TEST(Expression, IsNotLedToMuchWorkByHugeValues) {
    Json huge = Json::object();
    huge["input"]["t"] = std::string(300'000, 'a');
    huge["input"]["part"] = std::string(150'000, 'a') + "b";
    huge["input"]["list"] = std::vector<int>(200'000, 1);
    const auto what = [&huge](const std::string& text) {
        const auto value = evaluate(text, huge);
        return value ? value->dump() : value.error().what;
    };
    EXPECT_EQ(what("input.t contains input.part"), "false");
    EXPECT_THAT(what("input.t + input.t + input.t + input.t"), HasSubstr("makes a text of more than 1048576 bytes"));
    std::string again = "input.list == input.list";
    for (int i = 0; i < 8; ++i) again += " and input.list == input.list";
    EXPECT_THAT(what(again), HasSubstr("takes more than the 1000000 steps"));
    EXPECT_THAT(what("input.list"), HasSubstr("yields 200000 elements, more than the 10000"));
    EXPECT_EQ(what("length(input.list)"), "200000");
}

TEST(Expression, IsReadOnceAndEvaluatedOften) {
    const auto read = Expression::parse("item * 2 + loop.index");
    ASSERT_TRUE(read);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(read->evaluate({{"item", i}, {"loop", {{"index", 1}}}}), Json(2 * i + 1));
    EXPECT_FALSE(read->evaluate(Json("no object")));
}

}  // namespace
}  // namespace lockstep::engine
