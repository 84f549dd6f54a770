#include "engine/expression/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::engine {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// "instance keyword-pointer: what", a line for each violation.
std::string broken(const std::string& schema, const std::string& value, const SchemaLimits& limits = {}) {
    const auto loaded = JsonSchema::load(Json::parse(schema), limits);
    if (!loaded) return "refused at " + loaded.error().front().pointer + ": " + loaded.error().front().what;
    std::string lines;
    for (const auto& one : loaded->violations(Json::parse(value)))
        lines += (lines.empty() ? "" : "\n") + one.instance + " " + one.schema + ": " + one.what;
    return lines;
}

/// "pointer: what" of each mistake.
std::vector<std::string> mistakes(const std::string& schema, const SchemaLimits& limits = {}) {
    const auto loaded = JsonSchema::load(Json::parse(schema), limits);
    std::vector<std::string> lines;
    if (loaded) return lines;
    for (const auto& one : loaded.error()) lines.push_back(one.pointer + ": " + one.what);
    return lines;
}

TEST(JsonSchema, TellsEveryViolationWithBothPlaces) {
    const auto loaded = JsonSchema::load(Json::parse(R"({
        "type": "object",
        "required": ["name", "size"],
        "properties": {"name": {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$"},
                       "tags/all": {"items": {"enum": ["x", "y"]}, "uniqueItems": true}},
        "additionalProperties": false
    })"));
    ASSERT_TRUE(loaded);
    EXPECT_TRUE(loaded->violations(Json::parse(R"({"name": "abc", "size": 1})")).size() == 1);
    const auto found = loaded->violations(Json::parse(R"({"name": "A-b-c", "tags/all": ["x", "z", "x"], "more": 1})"));
    ASSERT_EQ(found.size(), 6U);
    EXPECT_EQ(found[0].instance + found[0].schema, "/required");
    EXPECT_EQ(found[0].what, "there is no member \"size\"");
    EXPECT_EQ(found[1].keyword, "additionalProperties");
    EXPECT_EQ(found[1].what, "there may be no member \"more\"");
    EXPECT_EQ(found[2].instance, "/name");
    EXPECT_EQ(found[2].schema, "/properties/name/maxLength");
    EXPECT_EQ(found[2].what, "expected at most 3 characters, found 5");
    EXPECT_EQ(found[3].schema, "/properties/name/pattern");
    EXPECT_EQ(found[4].instance, "/tags~1all/1");
    EXPECT_EQ(found[4].what, "expected one of [\"x\",\"y\"], found \"z\"");
    EXPECT_EQ(found[5].instance, "/tags~1all");
    EXPECT_EQ(found[5].schema, "/properties/tags~1all/uniqueItems");
    EXPECT_EQ(found[5].what, "elements 0 and 2 are the same");
}

TEST(JsonSchema, ChecksTypes) {
    EXPECT_EQ(broken(R"({"type": "integer"})", "1.0"), "");
    EXPECT_EQ(broken(R"({"type": "integer"})", "1.5"), " /type: expected integer, found number");
    EXPECT_EQ(broken(R"({"type": ["number", "null"]})", "18446744073709551615"), "");
    EXPECT_EQ(broken(R"({"type": ["number", "null"]})", "true"), " /type: expected number or null, found boolean");
    EXPECT_EQ(broken("false", "1"), " : no value is allowed here");
    EXPECT_EQ(broken("true", "1"), "");
}

TEST(JsonSchema, TakesEqualNumbersForEqualAndBooleansForNoNumbers) {
    EXPECT_EQ(broken(R"({"enum": [1, "a"]})", "1.0"), "");
    EXPECT_EQ(broken(R"({"const": {"a": [1.0]}})", R"({"a": [1]})"), "");
    EXPECT_EQ(broken(R"({"const": 1})", "true"), " /const: expected 1, found true");
    EXPECT_EQ(broken(R"({"const": null})", "0"), " /const: expected null, found 0");
    EXPECT_EQ(broken(R"({"uniqueItems": true})", "[1, true, \"1\", [1], {}]"), "");
    EXPECT_EQ(broken(R"({"uniqueItems": true})", "[[{\"a\": 1}], 0, [{\"a\": 1.0}]]"),
              " /uniqueItems: elements 0 and 2 are the same");
}

TEST(JsonSchema, ChecksNumbers) {
    EXPECT_EQ(broken(R"({"minimum": 2, "maximum": 3})", "2"), "");
    EXPECT_EQ(broken(R"({"minimum": 2})", "1.5"), " /minimum: expected at least 2, found 1.5");
    EXPECT_EQ(
        broken(R"({"exclusiveMinimum": 2, "exclusiveMaximum": 2})", "2.0"),
        " /exclusiveMinimum: expected more than 2, found 2.0\n /exclusiveMaximum: expected less than 2, found 2.0");
    EXPECT_EQ(broken(R"({"maximum": 9007199254740992.0})", "9007199254740993"),
              " /maximum: expected at most 9.007199254740992e+15, found 9007199254740993");
    EXPECT_EQ(broken(R"({"multipleOf": 0.5})", "7.5"), "");
    EXPECT_EQ(broken(R"({"multipleOf": 2.0})", "9007199254740993"),
              " /multipleOf: expected a multiple of 2.0, found 9007199254740993");
    EXPECT_EQ(broken(R"({"multipleOf": 1e-300})", "1e300"),
              " /multipleOf: expected a multiple of 1e-300, found 1e+300");
    EXPECT_EQ(broken(R"({"minimum": 2})", "\"1\""), "");
}

TEST(JsonSchema, CountsCharacters) {
    EXPECT_EQ(broken(R"({"minLength": 2, "maxLength": 2})", "\"é😀\""), "");
    EXPECT_EQ(broken(R"({"minLength": 3})", "\"é😀\""), " /minLength: expected at least 3 characters, found 2");
    EXPECT_EQ(broken(R"({"pattern": "b.d"})", "\"abcde\""), "");
    EXPECT_EQ(broken(R"({"pattern": "^b"})", "\"ab\""), " /pattern: expected a text that matches \"^b\", found \"ab\"");
}

TEST(JsonSchema, ChecksLists) {
    const char* const places = R"({"items": [{"type": "string"}, true], "additionalItems": {"type": "null"}})";
    EXPECT_EQ(broken(places, R"(["a", 1, null])"), "");
    EXPECT_EQ(
        broken(places, R"([1, 2, 3])"),
        "/0 /items/0/type: expected string, found integer\n/2 /additionalItems/type: expected null, found integer");
    EXPECT_EQ(broken(R"({"items": [true], "additionalItems": false})", "[1, 2, 3]"),
              " /additionalItems: expected at most 1 elements, found 3");
    EXPECT_EQ(broken(R"({"items": {"type": "null"}, "additionalItems": false})", "[null, null]"), "");
    EXPECT_EQ(broken(R"({"minItems": 1, "maxItems": 2})", "[1, 2, 3]"),
              " /maxItems: expected at most 2 elements, found 3");
}

TEST(JsonSchema, ChecksMembers) {
    const char* const schema = R"({"properties": {"a": true}, "patternProperties": {"^x": {"type": "null"}},
                                    "additionalProperties": {"type": "string"},
                                    "minProperties": 1, "maxProperties": 3})";
    EXPECT_EQ(broken(schema, R"({"a": 1, "x1": null, "other": "text"})"), "");
    EXPECT_EQ(broken(schema, R"({"x": 1, "y": 2})"),
              "/x /patternProperties/^x/type: expected null, found integer\n"
              "/y /additionalProperties/type: expected string, found integer");
    EXPECT_EQ(broken(schema, "{}"), " /minProperties: expected at least 1 members, found 0");
}

TEST(JsonSchema, CombinesSchemas) {
    EXPECT_EQ(broken(R"({"allOf": [{"minimum": 1}, {"maximum": 0}]})", "2"),
              " /allOf/1/maximum: expected at most 0, found 2");
    EXPECT_EQ(broken(R"({"anyOf": [{"minimum": 3}, {"maximum": 0}]})", "2"), " /anyOf: none of the 2 schemas fits 2");
    EXPECT_EQ(broken(R"({"oneOf": [{"minimum": 1}, {"maximum": 3}]})", "2"),
              " /oneOf: 2 of the 2 schemas fit 2, and it must be one");
    EXPECT_EQ(broken(R"({"not": {"minimum": 1}})", "2"), " /not: 2 is what it must not be");
    const char* const choice = R"({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}})";
    EXPECT_EQ(broken(choice, "\"a\""), " /then/minLength: expected at least 2 characters, found 1");
    EXPECT_EQ(broken(choice, "1"), " /else/minimum: expected at least 2, found 1");
    EXPECT_EQ(broken(R"({"then": false, "else": false})", "1"), "");
}

TEST(JsonSchema, FollowsReferencesWithinItself) {
    const char* const tree = R"({"$id": "tree", "definitions": {"a b/c": {"type": "integer"}},
                                 "properties": {"left": {"$ref": "#", "title": "a branch"},
                                                "leaf": {"$ref": "#/definitions/a%20b~1c"}}})";
    EXPECT_EQ(broken(tree, R"({"left": {"left": {"leaf": 1}}})"), "");
    EXPECT_EQ(broken(tree, R"({"left": {"left": {"leaf": "x"}}})"),
              "/left/left/leaf /definitions/a b~1c/type: expected integer, found string");
    EXPECT_EQ(broken(R"({"properties": {"a": {"type": "null"}, "b": {"$ref": "#/properties/a"}}})", R"({"b": 1})"),
              "/b /properties/a/type: expected null, found integer");
}

TEST(JsonSchema, RefusesWhatItDoesNotCheck) {
    EXPECT_THAT(mistakes(R"({"maxLenght": 3, "properties": {"a": {"contains": {}, "$defs": {}, "dunno": 1}}})"),
                ElementsAre("/maxLenght: there is no keyword \"maxLenght\"; did you mean \"maxLength\"?",
                            "/properties/a/$defs: the keyword \"$defs\" is not among those that are checked",
                            "/properties/a/contains: the keyword \"contains\" is not among those that are checked",
                            "/properties/a/dunno: there is no keyword \"dunno\""));
    EXPECT_THAT(
        mistakes(R"({"title": "t", "description": "d", "default": 1, "examples": [1], "$schema": "s", "$id": "i",
                             "$comment": "c", "format": "email"})"),
        ElementsAre());
}

TEST(JsonSchema, RefusesMistakesOfForm) {
    EXPECT_THAT(
        mistakes(
            R"x({"allOf": [], "enum": {}, "items": 5, "minItems": -1, "minimum": "1",
                             "multipleOf": 0, "pattern": "(?=a)",
                             "properties": [], "required": ["a", "a"], "type": "strin", "uniqueItems": 1})x"),
        ElementsAre("/allOf: expected a list of schemas", "/enum: expected a list of values",
                    "/items: expected a schema: an object, true or false",
                    "/minItems: expected a whole number of at least 0", "/minimum: expected a number",
                    "/multipleOf: expected a number above 0", HasSubstr("/pattern: RE2 does not take this pattern: "),
                    "/properties: expected an object of schemas", "/required: a name stands here twice",
                    "/type: there is no type \"strin\"; did you mean \"string\"?",
                    "/uniqueItems: expected true or false"));
    EXPECT_THAT(mistakes("[]"), ElementsAre(": expected a schema: an object, true or false"));
    EXPECT_THAT(mistakes(R"({"items": []})"), ElementsAre("/items: expected a schema, or a list of schemas"));
    EXPECT_THAT(mistakes(R"({"type": []})"), ElementsAre("/type: expected a type, or a list of types"));
    EXPECT_THAT(mistakes(R"({"patternProperties": {"[": true}})"),
                ElementsAre(HasSubstr("/patternProperties/[: RE2 does not take")));
    EXPECT_THAT(mistakes(R"({"minLength": 2.0, "maxItems": 1.5})"),
                ElementsAre("/maxItems: expected a whole number of at least 0"));
}

TEST(JsonSchema, RefusesReferencesThatLeadNowhereOrNoOneKnowsWhere) {
    EXPECT_THAT(mistakes(R"({"properties": {"a": {"$ref": "#/definitions/b"}}})"),
                ElementsAre("/properties/a/$ref: there is no schema at \"#/definitions/b\""));
    EXPECT_THAT(mistakes(R"({"$ref": "http://somewhere/else"})"),
                ElementsAre("/$ref: expected a reference within the schema, such as \"#/definitions/name\""));
    EXPECT_THAT(mistakes(R"({"$ref": "#/definitions/a%2"})"), ElementsAre(HasSubstr("/$ref: expected a reference")));
    EXPECT_THAT(
        mistakes(R"({"definitions": {"a": {}}, "properties": {"b": {"$ref": "#/definitions/a", "type": "null"}}})"),
        ElementsAre("/properties/b/type: \"type\" may not stand beside \"$ref\": use \"allOf\""));
    EXPECT_THAT(mistakes(R"({"properties": {"a": {"$id": "other"}}})"),
                ElementsAre(HasSubstr("/properties/a/$id: may stand at the root only")));
    EXPECT_THAT(mistakes(R"({"$ref": "#"})"),
                ElementsAre(": this schema applies itself to the same value, without end"));
    EXPECT_THAT(mistakes(R"({"properties": {"x": {"allOf": [{"$ref": "#/definitions/a"}]}},
                             "definitions": {"a": {"not": {"$ref": "#/definitions/b"}},
                                             "b": {"if": true, "then": {"anyOf": [{"$ref": "#/definitions/a"}]}}}})"),
                ElementsAre(HasSubstr("this schema applies itself to the same value, without end")));
}

TEST(JsonSchema, KeepsItsLimits) {
    EXPECT_THAT(mistakes(R"({"not": {"not": {"not": {}}}})", {.depth = 2}),
                ElementsAre(": the schema is nested deeper than 2"));
    EXPECT_THAT(mistakes(R"({"allOf": [{}, {}, {}, {}]})", {.schemas = 3}),
                ElementsAre("/allOf/2: there are more than 3 schemas within this one"));
    EXPECT_EQ(broken("{}", "[[[1]]]", {.depth = 2}), " : the value is nested deeper than 2");
    EXPECT_EQ(broken(R"({"items": {"type": "null"}})", "[1, 2, 3, 4]", {.violations = 2}),
              "/0 /items/type: expected null, found integer\n/1 /items/type: expected null, found integer");
    // What is given up has not been checked, whatever a `not` makes of it.
    EXPECT_EQ(broken(R"({"items": {"not": {"type": "null"}}})", "[1, 2, 3, 4]", {.steps = 5}),
              " : it takes more than 5 steps to check the value");
    std::string doubling = R"({"definitions": {"d0": {})";
    for (int i = 1; i <= 40; ++i) {
        const std::string below = R"({"$ref": "#/definitions/d)" + std::to_string(i - 1) + "\"}";
        doubling += ", \"d" + std::to_string(i) + R"(": {"allOf": [)" + below + "," + below + "]}";
    }
    doubling += R"(}, "$ref": "#/definitions/d40"})";
    EXPECT_EQ(broken(doubling, "1"), " : it takes more than 1000000 steps to check the value");
    std::string chain = R"({"definitions": {"d0": {})";
    for (int i = 1; i <= 900; ++i)
        chain += ", \"d" + std::to_string(i) + R"(": {"$ref": "#/definitions/d)" + std::to_string(i - 1) + "\"}";
    chain += R"(}, "$ref": "#/definitions/d900"})";
    EXPECT_EQ(broken(chain, "1"), " : more than 400 schemas apply to a part of the value within each other");
}

TEST(JsonSchema, WritesNothingOutThatIsNotTold) {
    std::string alternatives = R"({"const": 0})";
    for (int i = 0; i < 900; ++i) alternatives += R"(, {"not": {}})";
    const auto schema = JsonSchema::load(Json::parse(R"({"items": {"anyOf": [)" + alternatives + "]}}"));
    ASSERT_TRUE(schema);
    EXPECT_EQ(schema->violations(Json::array({Json(std::string(1'000'000, 'a'))})).size(), 1U);
}

TEST(JsonSchema, FindsEqualElementsOfLongListsInTime) {
    const auto schema = JsonSchema::load(Json::parse(R"({"uniqueItems": true})"));
    ASSERT_TRUE(schema);
    Json list = Json::array();
    for (int i = 0; i < 20'000; ++i) list.push_back(i);
    EXPECT_TRUE(schema->violations(list).empty());
    list.push_back(7);
    ASSERT_EQ(schema->violations(list).size(), 1U);
    EXPECT_EQ(schema->violations(list)[0].what, "elements 7 and 20000 are the same");
}

}  // namespace
}  // namespace lockstep::engine
