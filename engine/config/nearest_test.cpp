#include "engine/config/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::engine {
namespace {

TEST(Nearest, FindsSlipsOfThePenAndNothingElse) {
    const std::vector<std::string> words{"crash", "pause", "redis.errors"};
    EXPECT_EQ(nearest("carsh", words), "crash");
    EXPECT_EQ(nearest("REDIS.ERROR", words), "redis.errors");
    EXPECT_EQ(nearest("explode", words), "");
    EXPECT_EQ(nearest(std::string(10'000, 'x'), words), "");
    EXPECT_EQ(suggestion("explode", words), "; known: crash, pause, redis.errors");
}

}  // namespace
}  // namespace lockstep::engine
