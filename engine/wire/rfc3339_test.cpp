#include "engine/wire/rfc3339.h"

#include <gtest/gtest.h>

namespace lockstep::engine::wire {
namespace {

using namespace std::chrono_literals;

TEST(Rfc3339, TimesAreInUtcWithMicroseconds) {
    EXPECT_EQ(rfc3339(WallTime{1'767'225'600s + 123'456us}), "2026-01-01T00:00:00.123456Z");
    EXPECT_EQ(rfc3339(WallTime{0s}), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(rfc3339(WallTime{-1us}), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(rfc3339(WallTime{1'709'164'800s}), "2024-02-29T00:00:00.000000Z");
}

TEST(Rfc3339, IsReadWithOffsetsAndFractions) {
    const auto at = parse_rfc3339("2026-01-01T00:00:00Z");
    ASSERT_TRUE(at);
    EXPECT_EQ(parse_rfc3339("2026-01-01T01:30:00.25+01:30"), *at + 250ms);
    EXPECT_EQ(parse_rfc3339("2025-12-31T22:00:00-02:00"), at);
    EXPECT_EQ(parse_rfc3339("2026-01-01T00:00:00.123456789123Z"), *at + 123456789ns);
    for (const char* bad : {"", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
                            "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx", "-026-01-01T00:00:00Z",
                            "0001-01-01T00:00:00Z", "2026-02-30T00:00:00Z"})
        EXPECT_FALSE(parse_rfc3339(bad)) << bad;
}

// The clock counts nanoseconds in 64 bits, and every span between two times has to fit as well.
TEST(Rfc3339, WhatIsOutsideOfWhatTheClockCanCountIsTheNearestInstantThatIsNot) {
    EXPECT_EQ(parse_rfc3339("1901-01-01T00:00:00Z"), WallTime{0s});
    EXPECT_EQ(rfc3339(*parse_rfc3339("9999-12-31T23:59:59Z")), "2201-01-01T00:00:00.000000Z");
}

}  // namespace
}  // namespace lockstep::engine::wire
