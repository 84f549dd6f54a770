#include "engine/config/bounded_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep::engine {
namespace {

std::string nested(std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
}

TEST(BoundedJson, DocumentsOfUsualDepthAreRead) {
    EXPECT_EQ(parse_bounded(R"({"a": [1, {"b": "c"}]})").dump(), R"({"a":[1,{"b":"c"}]})");
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

// CONF-04
TEST(Fingerprint, IsTheSameForTheSameSettingsInAnotherOrder) {
    const std::string one =
        fingerprint_of_text(R"({"topics": {"job.a": ["p", "q"], "job.b": ["p"]}, "pools": {"p": {}, "q": {}}})");
    EXPECT_EQ(one, fingerprint_of_text(
                       "{\"pools\":{\"q\":{},\"p\":{}},\n \"topics\":{\"job.b\":[\"p\"],\"job.a\":[\"p\",\"q\"]}}"));
    EXPECT_NE(one,
              fingerprint_of_text(R"({"topics": {"job.a": ["q", "p"], "job.b": ["p"]}, "pools": {"p": {}, "q": {}}})"))
        << "the order of a topic's pools means something";
    EXPECT_EQ(fingerprint_of_text("{}"), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
        << "the SHA-256 of the two characters";
    EXPECT_EQ(fingerprint_of_text("{"), "");
}

}  // namespace
}  // namespace lockstep::engine
