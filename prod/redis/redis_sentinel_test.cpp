// The binding among sentinels, against real ones.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <fstream>

#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"
#include "prod/loop/test_wait.h"
#include "prod/redis/hiredis_client.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;
using engine::RedisValue;
using fakes::testing::ReservedPort;
using fakes::testing::ServerProcess;
using ::testing::HasSubstr;

ServerProcess::CommandLine replica_of(int primary) {
    return [primary](int port, const std::filesystem::path& folder) {
        auto line = fakes::testing::redis_server_line(port, folder);
        line.insert(line.end(),
                    {"--replicaof", fmt::format("127.0.0.1 {}", primary), "--repl-diskless-sync-delay", "0"});
        return line;
    };
}

/// One that decides alone, and soon.
ServerProcess::CommandLine sentinel_of(int primary) {
    return [primary](int port, const std::filesystem::path& folder) {
        const std::string file = (folder / "sentinel.conf").string();
        std::ofstream(file) << fmt::format(
            "port {}\nbind 127.0.0.1\ndir {}\nrequirepass watchword\nsentinel monitor main 127.0.0.1 {} 1\n"
            "sentinel down-after-milliseconds main 300\nsentinel failover-timeout main 3000\n",
            port, folder.string(), primary);
        return std::vector<std::string>{*fakes::testing::find_program("redis-server"), file, "--sentinel"};
    };
}

class RedisSentinelTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!fakes::testing::find_program("redis-server")) GTEST_SKIP() << "redis-server is not installed";
        primary.emplace([](int port, const std::filesystem::path& folder) {
            auto line = fakes::testing::redis_server_line(port, folder);
            line.insert(line.end(), {"--repl-diskless-sync-delay", "0"});
            return line;
        });
        replica.emplace(replica_of(primary->port()));
        HiredisClient direct(loop, {.host = "127.0.0.1", .port = primary->port()});
        // A sentinel that meets the replica at once does not look for others before ten seconds are over.
        ASSERT_TRUE(loop.run_until(
            [&] { return ask(direct, {"INFO", "replication"}).text().find("state=online") != std::string::npos; },
            20s));
        sentinel.emplace(sentinel_of(primary->port()));
    }
    [[nodiscard]] RedisAddress address() const {
        auto read = *parse_redis_url(fmt::format("redis-sentinel://127.0.0.1:{}/main", sentinel->port()));
        read.sentinel_password = "watchword";
        return read;
    }
    RedisValue ask(HiredisClient& client, engine::RedisCommand command) {
        auto outcome = carry_out(loop, client.command(std::move(command), loop.monotonic() + 10s));
        EXPECT_TRUE(outcome.applied()) << (outcome.applied() ? "" : outcome.failure().detail);
        return outcome.applied() ? outcome.value() : RedisValue();
    }
    std::string port_of(HiredisClient& client) {
        return std::string(ask(client, {"CONFIG", "GET", "port"}).at(1).text());
    }
    std::string refused(const RedisAddress& at) {
        HiredisClient client(loop, at);
        std::string why;
        client.on_state([&why](bool connected, const std::string& said) { why = connected ? "connected" : said; });
        return loop.run_until([&] { return !why.empty(); }, 10s) ? why : "nothing is heard";
    }

    UvLoop loop;
    std::optional<ServerProcess> primary, replica, sentinel;
};

TEST_F(RedisSentinelTest, FollowsThePrimaryWhenItIsAnotherServer) {
    HiredisClient watching(loop, {.host = "127.0.0.1", .port = sentinel->port(), .password = "watchword"});
    HiredisClient client(loop, address());
    EXPECT_EQ(port_of(client), std::to_string(primary->port()));
    EXPECT_EQ(ask(client, {"SET", "x", "1"}).status()->text, "OK");
    ASSERT_TRUE(loop.run_until(
        [&] {
            const RedisValue known = ask(watching, {"SENTINEL", "REPLICAS", "main"});
            return known.array() != nullptr && !known.array()->empty() &&
                   *ask(client, {"WAIT", "1", "100"}).integer() == 1;
        },
        20s));
    primary->kill();
    ASSERT_TRUE(loop.run_until([&] { return client.connected() && client.connections() == 2; }, 30s))
        << client.last_error();
    EXPECT_EQ(port_of(client), std::to_string(replica->port()));
    EXPECT_EQ(ask(client, {"GET", "x"}).text(), "1");
}

TEST_F(RedisSentinelTest, AsksTheNextWhereOneIsDeadOrDumb) {
    const ReservedPort nobody;
    ServerProcess dumb(sentinel_of(primary->port()));
    dumb.freeze();
    RedisAddress at = address();
    at.sentinels = {{"127.0.0.1", nobody.number()}, {"127.0.0.1", dumb.port()}, at.sentinels.front()};
    HiredisClient client(loop, at);
    EXPECT_TRUE(loop.run_until([&] { return client.connected(); }, 10s)) << client.last_error();
    dumb.thaw();
}

TEST_F(RedisSentinelTest, SaysWhatEachOfThemSaid) {
    const ReservedPort nobody;
    RedisAddress at = address();
    at.primary = "another";
    at.sentinels.push_back({"127.0.0.1", nobody.number()});
    const std::string why = refused(at);
    EXPECT_THAT(why, HasSubstr(fmt::format("127.0.0.1:{}: it watches no \"another\"", sentinel->port())));
    EXPECT_THAT(why, HasSubstr(fmt::format("127.0.0.1:{}: connection refused", nobody.number())));
    at = address();
    at.sentinel_password = "wrong";
    EXPECT_THAT(refused(at), HasSubstr("WRONGPASS"));
}

/// The durability that a write was asked to have, against a replica that is there and one that is frozen.
TEST_F(RedisSentinelTest, AWriteCountsOnceAReplicaHasIt) {
    HiredisClient client(loop, {.host = "127.0.0.1", .port = primary->port()}, engine::with_replicas(1, 300ms));
    EXPECT_EQ(ask(client, {"SET", "x", "1"}).status()->text, "OK");
    replica->freeze();
    const auto outcome = carry_out(loop, client.command({"SET", "x", "2"}, loop.monotonic() + 5s));
    EXPECT_EQ(outcome.kind(), engine::OutcomeKind::unknown);
    EXPECT_THAT(outcome.failure().detail, HasSubstr("0 of the 1 replicas"));
    EXPECT_EQ(ask(client, {"GET", "x"}).text(), "2") << "reads are answered all the same";
    replica->thaw();
    EXPECT_TRUE(loop.run_until(
        [&] { return carry_out(loop, client.command({"SET", "x", "3"}, loop.monotonic() + 5s)).applied(); }, 10s));
    EXPECT_EQ(client.connections(), 1U);
}

}  // namespace
}  // namespace lockstep::prod
