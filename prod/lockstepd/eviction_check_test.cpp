// O18
#include "prod/lockstepd/eviction_check.h"

#include <gtest/gtest.h>

namespace lockstep::prod {
namespace {

TEST(EvictionCheck, NamesThePolicyOfAServerThatMayThrowKeysAway) {
    EXPECT_EQ(
        evicting_policy("# Memory\r\nmaxmemory:1048576\r\nmaxmemory_human:1.00M\r\nmaxmemory_policy:allkeys-lru\r\n"),
        "allkeys-lru");
    EXPECT_EQ(evicting_policy("maxmemory:1048576\r\nmaxmemory_policy:volatile-ttl\r\n"), "volatile-ttl");
    EXPECT_EQ(evicting_policy("maxmemory:1048576\r\nmaxmemory_policy:noeviction\r\n"), "");
    EXPECT_EQ(evicting_policy("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n"), "") << "no limit";
    EXPECT_EQ(evicting_policy("# Server\r\nredis_version:7.0.15\r\n"), "") << "a server that does not say it";
}

}  // namespace
}  // namespace lockstep::prod
