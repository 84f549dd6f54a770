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

}  // namespace
}  // namespace lockstep::engine::wire
