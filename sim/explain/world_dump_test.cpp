#include "sim/explain/world_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WorldDump, ADifferenceNamesWhatCameWentAndChanged) {
    WorldDump from;
    WorldDump to;
    from.redis = {{"a", {"1, TTL 9s", "1"}}, {"b", {"2", "2"}}, {"d", {"4", "4"}}};
    to.redis = {{"a", {"1, TTL 8s", "1"}}, {"c", {"3", "3"}}, {"d", {"5", "5"}}};
    const std::string text = difference_text(from, to);
    EXPECT_THAT(text, HasSubstr("\nRedis\n- b  2\n+ c  3\n- d  4\n+ d  5\n"));
    EXPECT_THAT(text, Not(HasSubstr(" a ")));
    EXPECT_THAT(difference_text(to, to), HasSubstr("\nNothing.\n"));
}

}  // namespace
}  // namespace lockstep::sim
