#include "engine/expression/expression_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::engine {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

const Json kFilledFrom =
    Json::parse(R"({"input": {"n": 3, "whole": 2.0, "x": 0.1, "big": 1234567, "t": "text", "none": null,
                                    "list": [1, "a"], "yes": true}})");

/// The document as JSON, or what is wrong and where.
std::string filled(const std::string& pattern, const ExpressionLimits& limits = {}) {
    const auto value = fill_template(Json::parse(pattern), kFilledFrom, limits);
    return value ? value->dump() : value.error().pointer + ": " + value.error().what;
}

std::string filled_text(const std::string& text) {
    const auto value = fill_template(Json(text), kFilledFrom);
    return value ? value->dump() : value.error().what;
}

TEST(ExpressionTemplate, YieldsTheValueOfATextThatIsOneExpression) {
    EXPECT_EQ(filled_text("${input.n}"), "3");
    EXPECT_EQ(filled_text("  ${ input.list }\n"), R"([1,"a"])");
    EXPECT_EQ(filled_text("${input.none}"), "null");
    EXPECT_EQ(filled_text("${input.whole}"), "2.0");
    EXPECT_EQ(filled_text("${ {a: {b: '}'}}.a.b }"), "\"}\"");
    EXPECT_EQ(filled_text("${'\\'}'}"), "\"'}\"");
}

TEST(ExpressionTemplate, PutsValuesIntoAnyOtherText) {
    EXPECT_EQ(filled_text("plain"), "\"plain\"");
    EXPECT_EQ(filled_text(""), "\"\"");
    EXPECT_EQ(filled_text("n=${input.n}, t=${input.t}, none=${input.none}."), "\"n=3, t=text, none=.\"");
    EXPECT_EQ(filled_text("${input.none}${input.none}"), "\"\"");
    EXPECT_EQ(filled_text("${input.whole}|${input.x}|${input.big}|${input.yes}"), "\"2|0.1|1234567|true\"");
    EXPECT_EQ(filled_text("of ${input.list}"), R"("of [1,\"a\"]")");
    EXPECT_EQ(filled_text("$ {a} $${input.n} }"), "\"$ {a} $3 }\"");
}

TEST(ExpressionTemplate, FillsDocumentsAndLeavesOutEntriesThatAreNil) {
    EXPECT_EQ(filled(R"({"a": "${input.none}", "b": null, "c": ["${input.none}", {"d": "${input.gone.far}"}],
                         "e": "${input.n + 1}", "f": 5, "${input.t}": "x ${input.none}"})"),
              R"({"${input.t}":"x ","b":null,"c":[null,{}],"e":4,"f":5})");
    EXPECT_EQ(filled("[]"), "[]");
    EXPECT_EQ(filled("null"), "null");
}

TEST(ExpressionTemplate, SaysWhereAMistakeStands) {
    EXPECT_EQ(filled(R"({"a": {"b/c": [1, "ä ${1} ${lenght(2)}"]}})"),
              "/a/b~1c/1: there is no function \"lenght\" at column 10; did you mean \"length\"?");
    EXPECT_EQ(filled(R"({"a": "x ${1 / 0}"})"), "/a: \"/\" at column 7 divides by zero");
    EXPECT_EQ(filled(R"(["${input.n"])"), "/0: \"${\" at column 1 is not closed by \"}\"");
    EXPECT_EQ(filled(R"(["${}"])"), "/0: expected an expression at column 3, where the text ends");
    EXPECT_EQ(filled(R"(["at ${import}"])"),
              "/0: \"import\" at column 6 may not occur in an expression, not even as a part of a word");
}

TEST(ExpressionTemplate, TellsEveryMistakeOfADocument) {
    const auto mistakes = template_mistakes(
        Json::parse(R"({"a": "${1 +}, ${2 +}", "b": ["${ok}", "${'open}"], "c": {"d": "${foo(1)}"}, "e": "fine"})"));
    ASSERT_EQ(mistakes.size(), 4U);
    EXPECT_EQ(mistakes[0].pointer, "/a");
    EXPECT_EQ(mistakes[0].what, "expected a value at column 6, where the text ends");
    EXPECT_EQ(mistakes[1].pointer, "/a");
    EXPECT_EQ(mistakes[1].column, 14U);
    EXPECT_EQ(mistakes[2].pointer, "/b/1");
    EXPECT_EQ(mistakes[2].what, "\"${\" at column 1 is not closed by \"}\"");
    EXPECT_EQ(mistakes[3].pointer, "/c/d");
    EXPECT_EQ(mistakes[3].column, 3U);
    EXPECT_TRUE(template_mistakes(Json::parse(R"({"a": ["${b}", 1, null]})")).empty());
}

TEST(ExpressionTemplate, TakesTimeAsATextIsLong) {
    std::string text;
    while (text.size() < 1'000'000) text += "${1}é";
    const auto filled_in = fill_template(Json(text), kFilledFrom);
    ASSERT_TRUE(filled_in);
    EXPECT_EQ(filled_in->get_ref<const std::string&>().size(), text.size() / 2);
    const auto mistakes = template_mistakes(Json(text + "${+}"));
    ASSERT_EQ(mistakes.size(), 1U);
    EXPECT_EQ(mistakes[0].column, text.size() / 6 * 5 + 4);
}

TEST(ExpressionTemplate, SharesItsLimitsAmongAllTextsOfADocument) {
    EXPECT_EQ(filled(R"(["${input.t}", "${input.t}"])", {.bytes = 8}), R"(["text","text"])");
    EXPECT_EQ(filled(R"(["${input.t}", "x${input.t}"])", {.bytes = 8}),
              "/1: the document makes more than 8 bytes of text");
    EXPECT_EQ(filled(R"({"key": "${1}", "more": 2})", {.bytes = 6}), ": the document makes more than 6 bytes of text");
    EXPECT_THAT(filled(R"(["${1 + 1}", "${1 + 1}", "${1 + 1}"])", {.steps = 8}),
                HasSubstr("takes more than the 8 steps"));
    EXPECT_EQ(filled(R"(["${input.list}"])", {.items = 1}),
              "/0: the expression yields 2 elements, more than the 1 that it may");
    EXPECT_EQ(filled(R"([["${input.list}"]])", {.depth = 3}), R"([[[1,"a"]]])");
    EXPECT_EQ(filled(R"([["${input.list}"]])", {.depth = 2}),
              "/0/0: the document meets a value that is nested deeper than 2");
    EXPECT_EQ(filled("[[[1]]]", {.depth = 2}), "/0/0: the document is nested deeper than 2");
    Json deep = "${1}";
    for (int i = 0; i < 1000; ++i) deep = Json::array({deep});
    EXPECT_FALSE(fill_template(deep, kFilledFrom));
    EXPECT_EQ(template_mistakes(deep).size(), 1U);
}

}  // namespace
}  // namespace lockstep::engine
