// The simulated server against a real redis-server: the same random histories on both, every reply compared. Two
// connections each, so that transactions meet foreign writes. What may differ is normalised here and nowhere else: the
// order of hashes, sets and key listings, and the few milliseconds by which the two clocks are read apart.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>

#include "fakes/redis/database.h"
#include "fakes/redis/test_commands.h"
#include "fakes/redis/test_real_server.h"

namespace lockstep::fakes::redis {
namespace {

using engine::RedisCommand;

engine::WallTime real_now() {
    return engine::WallTime(
        std::chrono::duration_cast<engine::Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

/// The command that decides about the order of a reply: a script that runs its arguments stands for them.
RedisCommand effective(const RedisCommand& command) {
    const bool script = same_word(command[0], "EVAL") || same_word(command[0], "EVALSHA");
    if (script && command.size() > 3) return {command.begin() + 3, command.end()};
    return command;
}

std::string canonical(const RedisValue& reply) { return printable(reply); }

/// The elements of an unordered reply in a canonical order, `width` at a time.
RedisValue sorted(const RedisValue& reply, std::size_t width) {
    if (reply.array() == nullptr || reply.array()->size() % width != 0) return reply;
    std::vector<RedisValue::Array> groups;
    for (std::size_t i = 0; i < reply.array()->size(); i += width) {
        groups.emplace_back(reply.array()->begin() + static_cast<std::ptrdiff_t>(i),
                            reply.array()->begin() + static_cast<std::ptrdiff_t>(i + width));
    }
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return canonical(a.front()) < canonical(b.front()); });
    RedisValue::Array all;
    for (auto& group : groups) std::move(group.begin(), group.end(), std::back_inserter(all));
    return all;
}

RedisValue normalised(const RedisCommand& given, const RedisValue& reply) {
    const RedisCommand command = effective(given);
    if (reply.array() == nullptr) return reply;
    if (same_word(command[0], "HGETALL")) return sorted(reply, 2);
    if (same_word(command[0], "SMEMBERS") || same_word(command[0], "KEYS")) return sorted(reply, 1);
    if (same_word(command[0], "SCAN")) return RedisValue::Array{reply.at(0), sorted(reply.at(1), 1)};
    return reply;
}

/// Both sides may read the clock some milliseconds apart.
bool agree(const RedisCommand& given, const RedisValue& fake, const RedisValue& real) {
    const RedisCommand command = effective(given);
    if (same_word(command[0], "TIME") && fake.array() != nullptr) return real.array() != nullptr;
    if (same_word(command[0], "INFO") && fake.bulk() != nullptr) return real.bulk() != nullptr;
    // Keys that have expired count in the real server until it comes to remove them.
    if (same_word(command[0], "DBSIZE") && fake.integer() != nullptr && real.integer() != nullptr) {
        return *fake.integer() <= *real.integer();
    }
    const bool clock = same_word(command[0], "TTL") || same_word(command[0], "PTTL");
    if (clock && fake.integer() != nullptr && real.integer() != nullptr && *fake.integer() > 0) {
        constexpr std::int64_t kMillisecondsApart = 5000;
        return std::abs(*fake.integer() - *real.integer()) <= (same_word(command[0], "TTL") ? 5 : kMillisecondsApart);
    }
    return canonical(normalised(given, fake)) == canonical(normalised(given, real));
}

struct Coverage {
    int replies = 0;
    int errors = 0;
};

/// Two connections to each of the two servers, and what was compared over them.
class Pair {
public:
    explicit Pair(int port) {
        for (auto& connection : real_) connection = std::make_unique<RealConnection>(port);
        for (auto& session : fake_) session = std::make_unique<Session>(database_.watches(), NodeId{0});
        real_[0]->run({"FLUSHALL"});
        real_[0]->run({"SCRIPT", "FLUSH"});
    }

    /// Empty when the replies agree; otherwise what differs.
    std::string difference(const Step& step) {
        const RedisCommand& command = step.command;
        const RedisValue real = real_[step.connection]->run(command);
        const std::vector<std::string_view> args(command.begin(), command.end());
        const RedisValue fake = database_.execute(*fake_[step.connection], args, real_now());
        count(command, real);
        auto& queued = queued_[step.connection];
        bool same = false;
        if (same_word(command[0], "EXEC") && real.array() != nullptr && fake.array() != nullptr) {
            same = real.array()->size() == queued.size() && fake.array()->size() == queued.size();
            for (std::size_t i = 0; same && i < queued.size(); ++i) {
                same = agree(queued[i], fake.at(i), real.at(i));
                count(queued[i], real.at(i));
            }
        } else {
            same = agree(command, fake, real);
        }
        const bool was_queued = real.status() != nullptr && real.status()->text == "QUEUED";
        if (was_queued) queued.push_back(command);
        if (same_word(command[0], "EXEC") || same_word(command[0], "DISCARD")) queued.clear();
        if (same) return {};
        return printable(command) + "\n  simulated: " + printable(fake) + "\n  real:      " + printable(real);
    }

    Database& database() { return database_; }
    RealConnection& real() { return *real_[0]; }

    static std::map<std::string, Coverage>& coverage() {
        static std::map<std::string, Coverage> kCoverage;
        return kCoverage;
    }

private:
    static void count(const RedisCommand& command, const RedisValue& reply) {
        const std::vector<std::string_view> args(command.begin(), command.end());
        const Command* known = find_command(Args(args));
        Coverage& counted = coverage()[known != nullptr ? std::string(known->name) : "(unknown)"];
        ++(reply.error() != nullptr ? counted.errors : counted.replies);
    }

    Database database_;
    std::unique_ptr<RealConnection> real_[2];
    std::unique_ptr<Session> fake_[2];
    std::vector<RedisCommand> queued_[2];
};

class RedisDifferential : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        if (const auto program = testing::find_program("redis-server")) {
            server_ = std::make_unique<testing::ServerProcess>(redis_command_line(*program));
        }
    }
    static void TearDownTestSuite() { server_.reset(); }
    void SetUp() override {
        if (!server_) GTEST_SKIP() << "redis-server is not installed";
    }

    static void expect_same(Pair& pair, const std::vector<RedisCommand>& commands) {
        for (const RedisCommand& command : commands) EXPECT_EQ(pair.difference({0, command}), "");
    }

    static inline std::unique_ptr<testing::ServerProcess> server_;
};

TEST_F(RedisDifferential, RandomHistoriesGetTheSameReplies) {
    Pair::coverage().clear();
    const bool held = rc::check([] {
        const auto history = *any_history();
        Pair pair(server_->port());
        std::string before;
        for (const Step& step : history) {
            const std::string difference = pair.difference(step);
            if (!difference.empty()) RC_FAIL("after\n" + before + difference);
            before += "  " + std::to_string(step.connection) + ": " + printable(step.command) + "\n";
        }
    });
    ASSERT_TRUE(held);

    std::cout << "compared with redis-server (replies / errors):\n";
    for (const auto& [name, counted] : Pair::coverage()) {
        std::cout << "  " << std::left << std::setw(18) << name << std::right << std::setw(7) << counted.replies << " /"
                  << std::setw(6) << counted.errors << "\n";
    }
    for (const Command& command : command_table()) {
        if (command.run == nullptr) continue;
        EXPECT_GT(Pair::coverage()[std::string(command.name)].replies, 0) << command.name << " was never compared";
    }
}

TEST_F(RedisDifferential, EveryScriptGetsTheSameReplyWithEvalAndEvalsha) {
    for (const std::string& script : test_scripts()) {
        Pair pair(server_->port());
        const std::string sha = ScriptEngine::sha1_hex(script);
        expect_same(pair, {{"RPUSH", "a", "1", "2"},
                           {"EVALSHA", sha, "0", "LLEN", "a"},
                           {"EVAL", script, "0", "LLEN", "a"},
                           {"EVALSHA", sha, "0", "LLEN", "a"},
                           {"EVAL", script, "1", "a", "GET", "a"},
                           {"SCRIPT", "EXISTS", sha},
                           {"SCRIPT", "LOAD", script},
                           {"TYPE", "a"},
                           {"GET", "b"}});
    }
}

TEST_F(RedisDifferential, OutOfMemoryRefusesTheSameCommands) {
    Pair pair(server_->port());
    const std::string write_first = "redis.call('del', 'a') return redis.call('set', 'b', 'x')";
    const std::vector<RedisCommand> commands = {{"SET", "a", "x"},
                                                {"GET", "a"},
                                                {"HSET", "h", "f", "v"},
                                                {"DEL", "nothing"},
                                                {"EXPIRE", "a", "1000"},
                                                {"EVAL", "return redis.call('get', 'a')", "0"},
                                                {"EVAL", "return redis.call('set', 'a', 'y')", "0"},
                                                {"EVAL", "return redis.pcall('set', 'a', 'y')", "0"},
                                                {"EVAL", write_first, "0"},
                                                {"GET", "b"},
                                                {"MULTI"},
                                                {"SET", "a", "x"},
                                                {"GET", "a"},
                                                {"EXEC"},
                                                {"WATCH", "a"},
                                                {"MULTI"},
                                                {"DISCARD"}};
    expect_same(pair, {{"SET", "a", "before"}});
    pair.real().run({"CONFIG", "SET", "maxmemory", "1"});
    pair.database().set_out_of_memory(true);
    expect_same(pair, commands);
    pair.real().run({"CONFIG", "SET", "maxmemory", "0"});
    pair.database().set_out_of_memory(false);
    expect_same(pair, commands);
}

TEST_F(RedisDifferential, KeysDisappearInTheMillisecondAfterTheirExpiry) {
    // Both get the same absolute expiry; the real clock is read before and after each reply of the real server, and where
    // both readings let the simulated server say the same, the real one must have said so too.
    Pair pair(server_->port());
    const auto clock = [&pair] {
        const RedisValue time = pair.real().run({"TIME"});
        const auto micros = time.at(0).integer_or(0) * 1'000'000 + time.at(1).integer_or(0);
        return engine::WallTime(std::chrono::microseconds(micros));
    };
    Session session(pair.database().watches(), NodeId{0});
    const auto simulated = [&](engine::WallTime at) {
        return printable(pair.database().execute(session, std::vector<std::string_view>{"EXISTS", "a"}, at));
    };
    int compared = 0;
    for (int round = 0; round < 5; ++round) {
        const std::string expiry = std::to_string(engine::to_unix_micros(clock()) / 1000 + 15);
        expect_same(pair, {{"SET", "a", "x"}, {"PEXPIREAT", "a", expiry}});
        bool gone = false;
        while (!gone) {
            const engine::WallTime before = clock();
            const RedisValue real = pair.real().run({"EXISTS", "a"});
            const engine::WallTime after = clock();
            const std::string early = simulated(before);
            const std::string late = simulated(after);
            if (early == late) {
                EXPECT_EQ(printable(real), early);
                ++compared;
            }
            gone = real.integer_or(1) == 0;
        }
    }
    EXPECT_GT(compared, 20);
}

TEST_F(RedisDifferential, AWatchedKeyThatExpiresAbortsTheTransaction) {
    Pair pair(server_->port());
    expect_same(pair, {{"SET", "a", "x", "PX", "30"}, {"WATCH", "a"}, {"MULTI"}, {"SET", "b", "y"}});
    RealConnection other(server_->port());
    while (other.run({"EXISTS", "a"}).integer_or(0) == 1) {
    }
    const auto later = real_now() + std::chrono::milliseconds(100);
    while (real_now() < later) other.run({"PING"});
    expect_same(pair, {{"EXEC"}, {"EXISTS", "b"}});
}

}  // namespace
}  // namespace lockstep::fakes::redis
