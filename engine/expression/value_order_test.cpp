#include "engine/expression/value_order.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/expression/utf8.h"

namespace lockstep::engine {
namespace {

using Json = nlohmann::json;

TEST(ValueOrder, PutsNumbersByWhatTheyAreWorth) {
    // Each below the next; a line of several is of equals.
    const std::vector<std::vector<Json>> steps{{-1e300},
                                               {std::numeric_limits<std::int64_t>::min(), -9223372036854775808.0},
                                               {-2.5},
                                               {-2, -2.0},
                                               {-0.5},
                                               {0, 0U, 0.0, -0.0},
                                               {0.5},
                                               {1, 1U, 1.0},
                                               {9007199254740992, 9007199254740992.0},
                                               {9007199254740993},
                                               {std::numeric_limits<std::int64_t>::max()},
                                               {9223372036854775808U, 9223372036854775808.0},
                                               {18446744073709551614U},
                                               {18446744073709551615U},
                                               {18446744073709551616.0},
                                               {1e300}};
    for (std::size_t i = 0; i < steps.size(); ++i)
        for (std::size_t j = 0; j < steps.size(); ++j)
            for (const Json& left : steps[i])
                for (const Json& right : steps[j]) {
                    const int order = order_of_values(left, right);
                    EXPECT_EQ(order < 0, i < j) << left << " and " << right;
                    EXPECT_EQ(order == 0, i == j) << left << " and " << right;
                }
}

TEST(ValueOrder, IsOneOrderOfAllValues) {
    std::vector<Json> values =
        Json::parse(R"([null, false, true, 0, 1, 1.5, "", "a", "ab", "b", [], [0], [0, 1], [1], [[]], {},
                                               {"a": 0}, {"a": 0, "b": 0}, {"a": 1}, {"b": 0}, "1", [true],
                                               {"a": [1.0]},
                                               {"a": [1]}])");
    for (const Json& a : values)
        for (const Json& b : values) {
            EXPECT_EQ(order_of_values(a, b), -order_of_values(b, a)) << a << " and " << b;
            EXPECT_EQ(order_of_values(a, b) == 0, a == b) << a << " and " << b;
            for (const Json& c : values)
                if (order_of_values(a, b) < 0 && order_of_values(b, c) < 0) EXPECT_LT(order_of_values(a, c), 0);
        }
}

TEST(ValueOrder, TellsHowDeepAValueIs) {
    EXPECT_FALSE(deeper_than(Json(1), 0));
    EXPECT_FALSE(deeper_than(Json::array(), 0));
    EXPECT_TRUE(deeper_than(Json::array({1}), 0));
    EXPECT_FALSE(deeper_than(Json::parse(R"([{"a": [1]}])"), 3));
    EXPECT_TRUE(deeper_than(Json::parse(R"([1, {"b": 2, "a": [1]}])"), 2));
}

TEST(Utf8, CountsCharactersAndCutsBetweenThem) {
    EXPECT_EQ(characters_of("aé€😀"), 4U);
    EXPECT_EQ(beginning_of("aé€", 2), "a");
    EXPECT_EQ(beginning_of("aé€", 3), "aé");
    EXPECT_EQ(beginning_of("aé", 10), "aé");
    EXPECT_EQ(not_utf8("aé€😀"), std::string_view::npos);
    for (const std::string_view bad : {"a\x80", "a\xc1\x81", "a\xe0\x9f\xbf", "a\xed\xa0\x80", "a\xf0\x8f\xbf\xbf",
                                       "a\xf4\x90\x80\x80", "a\xc3", "a\xe2\x82", "a\xff"})
        EXPECT_EQ(not_utf8(bad), 1U);
}

}  // namespace
}  // namespace lockstep::engine
