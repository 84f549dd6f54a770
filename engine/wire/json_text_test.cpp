#include "engine/wire/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep::engine::wire {
namespace {

std::string nested(std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
}

TEST(BoundedJson, DocumentsOfUsualDepthAreRead) {
    EXPECT_EQ(json_text(parse_bounded(R"({"a": [1, {"b": "c"}]})")), R"({"a":[1,{"b":"c"}]})");
    EXPECT_FALSE(parse_bounded(nested(60, '[', ']')).is_discarded());
}

TEST(BoundedJson, WhatIsNoJsonOrIsNestedWithoutBoundsIsDiscarded) {
    for (const std::string& text : {std::string(), std::string("{"), std::string("{\"a\":1}x"), std::string("\xff\xfe"),
                                    std::string("{\"a\":1e999}"), std::string("\"\xc3\x28\""), nested(100, '[', ']'),
                                    nested(1'000'000, '[', ']'), std::string(1'000'000, '[')})
        EXPECT_TRUE(parse_bounded(text).is_discarded()) << text.substr(0, 20);
    std::string objects;
    for (int i = 0; i < 500'000; ++i) objects += R"({"a":)";
    EXPECT_TRUE(parse_bounded(objects + "1" + std::string(500'000, '}')).is_discarded());
}

TEST(JsonText, BytesThatAreNotUtf8AreReplacedAndEscapesAreAsciiOnlyWhereAsked) {
    EXPECT_EQ(json_text(nlohmann::json("a\xff")), "\"a\uFFFD\"");
    EXPECT_EQ(json_text(nlohmann::json("é")), "\"é\"");
    EXPECT_EQ(ascii_json_text(nlohmann::json("é\xff")), "\"\\u00e9\\ufffd\"");
}

TEST(JsonText, KeysAreSortedOrStandAsTheyStood) {
    const std::string text = R"({"b": 1, "a": [2]})";
    EXPECT_EQ(json_text(read_json(text)), R"({"a":[2],"b":1})");
    EXPECT_EQ(json_text(read_ordered_json(text)), R"({"b":1,"a":[2]})");
    EXPECT_EQ(json_text(sound_ordered_json(text), 1), "{\n \"b\": 1,\n \"a\": [\n  2\n ]\n}");
}

TEST(JsonText, WhatIsNoJsonIsDiscardedOrThrown) {
    EXPECT_TRUE(read_json("{").is_discarded());
    EXPECT_TRUE(read_ordered_json("{").is_discarded());
    EXPECT_TRUE(read_ordered_json("1 // one").is_discarded());
    EXPECT_EQ(read_ordered_json("1 // one", Comments::skipped), 1);
    EXPECT_THROW(static_cast<void>(sound_json("1 // one")), nlohmann::json::parse_error);
    EXPECT_EQ(sound_json("1 // one", Comments::skipped), 1);
    EXPECT_THROW(static_cast<void>(sound_json("1e999")), nlohmann::json::out_of_range);
}

}  // namespace
}  // namespace lockstep::engine::wire
