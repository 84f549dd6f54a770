// The simulated server against a real redis-server: the same random histories on both. test_comparison.h has the method.
// The page fakes/coverage.md says how often what was compared; what was never compared fails here.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fakes/redis/test_comparison.h"
#include "fakes/redis/test_lies.h"

namespace lockstep::fakes::redis {
namespace {

using engine::RedisCommand;

constexpr const char* kSection = "Redis";
/// Attempts on a machine that may be too busy for an expiry to stay clear of commands.
constexpr int kAttempts = 5;

using History = std::vector<Step>;

class RedisDifferential : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        if (testing::find_program("redis-server")) {
            server_ = std::make_unique<testing::ServerProcess>(redis_command_line);
        }
    }
    static void TearDownTestSuite() { server_.reset(); }
    void SetUp() override {
        if (!server_) GTEST_SKIP() << "redis-server is not installed";
    }

    /// What differs, empty for nothing; nothing at all when the machine was never calm enough.
    static std::optional<std::string> difference(const History& history, Compared& compared, const Lie* lie = nullptr) {
        for (int attempt = 0; attempt < kAttempts; ++attempt) {
            try {
                Comparison comparison(server_->port(), compared);
                const auto keeps = lie != nullptr ? lie->tell(comparison.simulated()) : nullptr;
                for (const Step& step : history) comparison.take(step);
                comparison.take({.kind = Step::Kind::memory_free});
                comparison.compare_keyspaces();
                return "";
            } catch (const Difference& found) {
                return found.what();
            } catch (const NotCalm&) {
            }
        }
        return std::nullopt;
    }

    /// What differs each time that the history is compared. What a server does is decided by what it is told; what is not
    /// seen again was a pause of the machine.
    static std::optional<std::string> differs_again(const History& history) {
        constexpr int kTimes = 2;
        std::optional<std::string> found;
        for (int time = 0; time < kTimes; ++time) {
            Compared compared;
            found = difference(history, compared);
            if (!found || found->empty()) return std::nullopt;
        }
        return found;
    }

    /// The history without what it does not need to differ, as far as a bounded search finds out.
    static History shortest_that_differs(History history) {
        int comparisons = 200;
        for (std::size_t chunk = history.size() / 2; chunk > 0; chunk /= 2) {
            for (std::size_t from = 0; from < history.size() && comparisons > 0;) {
                History less = history;
                const auto first = less.begin() + static_cast<std::ptrdiff_t>(from);
                less.erase(first, first + static_cast<std::ptrdiff_t>(std::min(chunk, less.size() - from)));
                --comparisons;
                if (differs_again(less)) {
                    history = std::move(less);
                } else {
                    from += chunk;
                }
            }
        }
        return history;
    }

    static void expect_same(const std::vector<RedisCommand>& commands) {
        History history;
        for (const RedisCommand& command : commands) history.push_back({.command = command});
        Compared compared;
        EXPECT_EQ(difference(history, compared).value_or("never calm"), "");
    }

    static inline std::unique_ptr<testing::ServerProcess> server_;
};

TEST_F(RedisDifferential, RandomHistoriesGetTheSameRepliesAndLeaveTheSameKeys) {
    constexpr int kHistories = 1000;
    constexpr int kSizes = 100;
    Compared compared;
    int calm = 0;
    std::vector<std::string> seen_once;
    for (int made = 0; made < kHistories; ++made) {
        const History history = any_history()(rc::Random(static_cast<std::uint64_t>(made)), made % kSizes).value();
        const auto differs = difference(history, compared);
        calm += differs ? 1 : 0;
        if (!differs || differs->empty()) continue;
        ASSERT_FALSE(differs_again(history)) << differs_again(shortest_that_differs(history)).value_or(*differs);
        seen_once.push_back(*differs);
    }
    // A loaded machine may spoil some, and let a key expire between two servers that both have it.
    EXPECT_GT(calm, kHistories / 2);
    for (const std::string& once : seen_once) std::cout << "seen once, and not again:\n" << once << "\n";
    EXPECT_LE(seen_once.size(), kHistories / 100U);

    for (const Command& command : command_table()) {
        if (command.run == nullptr) continue;
        EXPECT_GT(compared.commands.at(command.name, Compared::kReplies), 0) << command.name << " was never compared";
        if (command.has(kNoScript)) continue;
        EXPECT_GT(compared.commands.at(command.name, Compared::kInScripts), 0) << command.name << " never in a script";
    }
    for (const ErrorText& error : error_texts()) {
        if (error.kind == ErrorKind::loading) continue;  // ALoadingServerRefusesTheSameCommands
        EXPECT_GT(compared.errors.at(error.name, 0), 0) << "never compared: " << error.text;
    }
    for (const char* type : {"nil", "integer", "bulk string", "status", "error", "array"}) {
        EXPECT_GT(compared.types.at(type, 0), 0) << "no reply was " << type;
    }
    EXPECT_GT(compared.expired, 100U);
    testing::add_to_coverage_page(
        kSection, fmt::format("{} random histories, after each the whole keyspace, {} keys seen to expire.\n\n{}{}{}",
                              compared.keyspaces, compared.expired, compared.commands.markdown(),
                              compared.types.markdown(), compared.errors.markdown()));
}

TEST_F(RedisDifferential, EveryLieOfASimulatedServerIsCaught) {
    constexpr int kHistoriesMax = 400;
    constexpr int kSize = 60;
    testing::CoverageTable caught("lie", {"caught after histories"});
    for (const Lie& lie : lies()) {
        std::string found;
        History history;
        int made = 0;
        while (found.empty() && made < kHistoriesMax) {
            Compared compared;
            ++made;
            history = any_history()(rc::Random(static_cast<std::uint64_t>(made)), kSize).value();
            found = difference(history, compared, &lie).value_or("");
        }
        EXPECT_FALSE(found.empty()) << "nobody noticed: " << lie.name;
        EXPECT_EQ(differs_again(history), std::nullopt) << "not because of the lie: " << lie.name;
        caught.count(lie.name, 0, static_cast<std::uint64_t>(made));
    }
    EXPECT_GE(lies().size(), 10U);
    testing::add_to_coverage_page(kSection, caught.markdown());
}

TEST_F(RedisDifferential, EveryScriptGetsTheSameReplyWithEvalAndEvalsha) {
    for (const std::string& script : test_scripts()) {
        const std::string sha = ScriptEngine::sha1_hex(script);
        expect_same({{"RPUSH", "a", "1", "2"},
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
    History history{{.command = {"SET", "a", "before"}}, {.kind = Step::Kind::memory_full}};
    for (const RedisCommand& command : commands) history.push_back({.command = command});
    history.push_back({.kind = Step::Kind::memory_free});
    for (const RedisCommand& command : commands) history.push_back({.command = command});
    Compared compared;
    EXPECT_EQ(difference(history, compared).value_or("never calm"), "");
}

TEST_F(RedisDifferential, ALoadingServerRefusesTheSameCommands) {
    // A real server that reads its keys slowly, and answers between two of them.
    testing::ServerProcess server([](int port, const std::filesystem::path& folder) {
        auto words = redis_command_line(port, folder);
        for (const char* word : {"--key-load-delay", "3000", "--loading-process-events-interval-bytes", "1024"}) {
            words.emplace_back(word);
        }
        return words;
    });
    {
        RealConnection filling(server.port());
        constexpr int kKeys = 4000;
        for (int i = 0; i < kKeys; ++i) filling.run({"SET", "key" + std::to_string(i), std::string(1500, 'x')});
        ASSERT_EQ(printable(filling.run({"SAVE"})), printable(RedisValue(RedisValue::Status{"OK"})));
    }
    server.kill();
    server.start();
    RealConnection connection(server.port());
    Database database;
    Session session(database.watches(), NodeId{0});
    database.set_loading(true);
    int refused = 0;
    for (const Command& command : command_table()) {
        RedisCommand words{std::string(command.name.substr(0, command.name.find('|')))};
        if (words[0] != command.name) words.emplace_back(command.name.substr(words[0].size() + 1));
        while (words.size() < static_cast<std::size_t>(std::abs(command.arity))) words.emplace_back("0");
        const RedisValue real = connection.run(words);
        const std::vector<std::string_view> args(words.begin(), words.end());
        const RedisValue fake = database.execute(session, args, engine::WallTime{});
        refused += fake.error() != nullptr && kind_of_error(fake.error()->text) == ErrorKind::loading ? 1 : 0;
        if (command.name == "time" || command.name == "info") {
            EXPECT_EQ(real.error(), nullptr) << command.name;
        } else {
            EXPECT_EQ(printable(fake), printable(real)) << command.name;
        }
    }
    EXPECT_NE(connection.run({"INFO", "persistence"}).text().find("loading:1"), std::string_view::npos)
        << "the server had read all its keys before it was asked everything";
    EXPECT_GT(refused, 60);
    testing::add_to_coverage_page(kSection,
                                  fmt::format("{} commands refused alike by servers that load.\n\n", refused));
}

TEST_F(RedisDifferential, KeysDisappearInTheMillisecondAfterTheirExpiry) {
    // Both get the same absolute expiry; the real clock is read before and after each reply of the real server, and where
    // both readings let the simulated server say the same, the real one must have said so too.
    RealConnection connection(server_->port());
    Database database;
    Session session(database.watches(), NodeId{0});
    const auto clock = [&connection] {
        const RedisValue time = connection.run({"TIME"});
        const auto micros = time.at(0).integer_or(0) * 1'000'000 + time.at(1).integer_or(0);
        return engine::WallTime(std::chrono::microseconds(micros));
    };
    const auto simulated = [&](const RedisCommand& command, engine::WallTime at) {
        const std::vector<std::string_view> args(command.begin(), command.end());
        return printable(database.execute(session, args, at));
    };
    int compared = 0;
    for (int round = 0; round < 5; ++round) {
        const engine::WallTime now = clock();
        const std::string expiry = std::to_string(engine::to_unix_micros(now) / 1000 + 15);
        for (const RedisCommand& command : {RedisCommand{"SET", "a", "x"}, RedisCommand{"PEXPIREAT", "a", expiry}}) {
            EXPECT_EQ(simulated(command, now), printable(connection.run(command)));
        }
        bool gone = false;
        while (!gone) {
            const engine::WallTime before = clock();
            const RedisValue real = connection.run({"EXISTS", "a"});
            const engine::WallTime after = clock();
            const std::string early = simulated({"EXISTS", "a"}, before);
            const std::string late = simulated({"EXISTS", "a"}, after);
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
    const History history{{.command = {"SET", "a", "x", "PX", "30"}},
                          {.command = {"WATCH", "a"}},
                          {.command = {"MULTI"}},
                          {.command = {"SET", "b", "y"}},
                          {.kind = Step::Kind::wait},
                          {.command = {"EXEC"}},
                          {.command = {"EXISTS", "b"}}};
    Compared compared;
    EXPECT_EQ(difference(history, compared).value_or("never calm"), "");
    EXPECT_EQ(compared.expired, 1U);
}

}  // namespace
}  // namespace lockstep::fakes::redis
