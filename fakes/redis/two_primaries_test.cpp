// Two primaries for a moment: the same steps on the simulated server, and on three real ones of which a replica is promoted while the
// old primary goes on for one of two clients.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fakes/redis/test_real_server.h"
#include "fakes/redis/test_redis_fixture.h"

namespace lockstep::fakes::redis {
namespace {

using namespace std::chrono_literals;
using engine::RedisCommand;
using engine::RedisValue;

/// Two clients, the first of which is cut off with the old primary.
class Side {
public:
    virtual ~Side() = default;
    virtual RedisValue one(const RedisCommand& command) = 0;
    virtual RedisValue two(const RedisCommand& command) = 0;
    virtual void part() = 0;
    virtual void join() = 0;
    /// How many there are before they part: any of them may be the one that is promoted.
    [[nodiscard]] virtual const char* replicas() const = 0;
};

class Simulated final : public Side, public RedisInWorld {
public:
    Simulated() : RedisInWorld({.persistence = Persistence::always, .replica_lag = 1ms}) {}
    RedisValue one(const RedisCommand& command) override { return ask(*RedisInWorld::one, command); }
    RedisValue two(const RedisCommand& command) override { return ask(*RedisInWorld::two, command); }
    void part() override {
        server.two_primaries(1ms, {kOne});
        world.run_for(10ms);
    }
    void join() override {
        server.one_primary();
        world.run_for(10ms);
    }

    [[nodiscard]] const char* replicas() const override { return "1"; }

private:
    void TestBody() override {}
    RedisValue ask(RedisClient& client, const RedisCommand& command) {
        const Replies replies = run(client, command, 10s);
        return replies.applied() ? replies.value().front() : RedisValue(RedisValue::Error{"GONE no answer"});
    }
};

class Real final : public Side {
public:
    Real() {
        for (ServerOf* server : {&old_, &new_, &third_})  // or a replica waits for others that come
            server->connection.run({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
        for (ServerOf* follower : {&new_, &third_}) follow(*follower, old_);
    }
    RedisValue one(const RedisCommand& command) override { return one_->run(command); }
    RedisValue two(const RedisCommand& command) override { return two_->run(command); }
    void part() override {
        new_.connection.run({"REPLICAOF", "NO", "ONE"});
        follow(third_, new_);
        two_.emplace(new_.server.port());
    }
    void join() override {
        follow(old_, new_);
        one_.emplace(new_.server.port());
    }
    [[nodiscard]] const char* replicas() const override { return "2"; }
    RedisValue at_the_old_one(const RedisCommand& command) { return old_.connection.run(command); }

private:
    struct ServerOf {
        testing::ServerProcess server{redis_command_line};
        RealConnection connection{server.port()};
    };

    /// Returns once it has what the other one has.
    static void follow(ServerOf& who, const ServerOf& whom) {
        who.connection.run({"REPLICAOF", "127.0.0.1", std::to_string(whom.server.port())});
        const auto limit = std::chrono::steady_clock::now() + 30s;
        while (who.connection.run({"INFO", "replication"}).text().find("master_link_status:up") == std::string::npos) {
            if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("the replica does not follow");
            std::this_thread::yield();
        }
    }

    ServerOf old_, new_, third_;
    std::optional<RealConnection> one_{old_.server.port()}, two_{old_.server.port()};
};

std::string shown(const RedisValue& value) {
    if (value.error() != nullptr) return value.error()->text.substr(0, value.error()->text.find(' '));
    if (value.integer()) return std::to_string(*value.integer());
    return value.status() != nullptr ? value.status()->text : std::string(value.text());
}

/// What each step came to.
std::vector<std::string> go_through(Side& side) {
    std::vector<std::string> said;
    const auto one = [&](const RedisCommand& command) { said.push_back("one: " + shown(side.one(command))); };
    const auto two = [&](const RedisCommand& command) { said.push_back("two: " + shown(side.two(command))); };
    const auto copied = [&](const RedisValue& reply, const char* wanted = "1") {
        said.emplace_back(reply.integer_or(0) >= std::stoi(wanted) ? "copied" : "not copied");
    };
    one({"SET", "kept", "1"});
    one({"SET", "lock", "token", "NX"});
    copied(side.one({"WAIT", side.replicas(), "5000"}), side.replicas());
    const std::string script = shown(side.one({"SCRIPT", "LOAD", "return redis.call('GET', KEYS[1])"}));
    one({"EVALSHA", script, "1", "kept"});

    side.part();
    one({"EVALSHA", script, "1", "kept"});
    two({"EVALSHA", script, "1", "kept"});
    two({"GET", "kept"});
    two({"SET", "lock", "another", "NX"});
    one({"DEL", "lock"});
    two({"GET", "lock"});
    one({"SET", "by one", "v"});
    two({"SET", "by two", "v"});
    one({"EXISTS", "by one", "by two"});
    two({"EXISTS", "by one", "by two"});
    one({"INCR", "kept"});
    two({"GET", "kept"});
    copied(side.one({"WAIT", "1", "100"}));
    copied(side.two({"WAIT", "1", "5000"}));

    side.join();
    one({"EVALSHA", script, "1", "kept"});
    one({"GET", "kept"});
    one({"GET", "lock"});
    one({"EXISTS", "by one"});
    one({"EXISTS", "by two"});
    one({"SET", "afterwards", "v"});
    two({"GET", "afterwards"});
    copied(side.one({"WAIT", "1", "5000"}));
    return said;
}

TEST(TwoPrimaries, AreAsTwoRealServersAre) {
    if (!testing::find_program("redis-server")) GTEST_SKIP() << "redis-server is not installed";
    Simulated simulated;
    Real real;
    const auto by_real = go_through(real);
    EXPECT_THAT(go_through(simulated), ::testing::ElementsAreArray(by_real));
    EXPECT_EQ(shown(real.at_the_old_one({"EXISTS", "by one"})), "0") << "it has given up what it had alone";
    EXPECT_THAT(by_real, ::testing::Contains("not copied"));
}

}  // namespace
}  // namespace lockstep::fakes::redis
