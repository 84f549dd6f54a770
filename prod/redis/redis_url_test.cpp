#include "prod/redis/redis_url.h"

#include <gtest/gtest.h>

namespace lockstep::prod {
namespace {

TEST(RedisUrl, FillsInDefaults) {
    const auto address = parse_redis_url("redis://");
    ASSERT_TRUE(address);
    EXPECT_EQ(address->display(), "redis://localhost:6379");
}

TEST(RedisUrl, ReadsEveryPart) {
    const auto address = parse_redis_url("redis://me:p%40ss:w@redis.example:6380/3");
    ASSERT_TRUE(address);
    EXPECT_EQ(address->host, "redis.example");
    EXPECT_EQ(address->port, 6380);
    EXPECT_EQ(address->user, "me");
    EXPECT_EQ(address->password, "p@ss:w");
    EXPECT_EQ(address->database, 3);
}

TEST(RedisUrl, ReadsAPasswordWithoutUserAndAnIpv6Address) {
    const auto address = parse_redis_url("redis://:secret@[::1]:7000");
    ASSERT_TRUE(address);
    EXPECT_EQ(address->host, "::1");
    EXPECT_EQ(address->user, "");
    EXPECT_EQ(address->password, "secret");
}

TEST(RedisUrl, NeverShowsThePassword) {
    EXPECT_EQ(parse_redis_url("redis://:secret@h/1")->display(), "redis://***@h:6379/1");
    // What is no address at all is repeated no more than a password that was taken for one.
    for (const char* url : {"redis://:se?cret@h/1", "redis://me:secret", "redis://h:6379:secret", "redis://me:1/secret",
                            "redis://%zz:secret@h", "redis://me@h:secret", "redis-sentinel://me:secret/main",
                            "redis-sentinel://a:1,me:secret/main", "redis-sentinel://a/main/secret",
                            "http://me:secret@h", "redis://[secret", "secret"}) {
        const auto address = parse_redis_url(url);
        ASSERT_FALSE(address) << url;
        EXPECT_EQ(address.error().find("cret"), std::string::npos) << address.error();
    }
}

TEST(RedisUrl, SaysWhetherTlsIsAskedFor) {
    EXPECT_FALSE(parse_redis_url("redis://h")->tls);
    const auto address = parse_redis_url("rediss://h/2");
    ASSERT_TRUE(address);
    EXPECT_TRUE(address->tls);
    EXPECT_EQ(address->display(), "rediss://h:6379/2");
}

TEST(RedisUrl, ReadsSentinelsAndTheNameOfThePrimary) {
    const auto address = parse_redis_url("rediss-sentinel://me:secret@a:1,[::1]:2,c/main/3");
    ASSERT_TRUE(address) << address.error();
    EXPECT_EQ(address->display(), "rediss-sentinel://***@a:1,[::1]:2,c:26379/main/3");
    EXPECT_EQ(address->user, "me");
    EXPECT_EQ(address->sentinels.at(1).host, "::1");
    EXPECT_EQ(address->primary, "main");
    EXPECT_EQ(address->database, 3);
    EXPECT_TRUE(address->tls);
    EXPECT_NE(parse_redis_url("redis-sentinel://a:1").error().find("which primary?"), std::string::npos);
    EXPECT_FALSE(parse_redis_url("redis-sentinel://a:0/main"));
    EXPECT_FALSE(parse_redis_url("redis-sentinel://a/main/x"));
}

TEST(RedisUrl, RefusesWhatItCannotRead) {
    for (const char* url :
         {"", "localhost:6379", "http://h", "redis://h:port", "redis://h:0", "redis://h:70000", "redis://h/db",
          "redis://[::1", "redis://%zz@h", "redis://h?ssl=1", "redisss://h", "redis-cluster://h", "sentinel://h/main"})
        EXPECT_FALSE(parse_redis_url(url)) << url;
}

}  // namespace
}  // namespace lockstep::prod
