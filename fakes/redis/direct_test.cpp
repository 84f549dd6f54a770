#include "fakes/redis/direct.h"

#include <gtest/gtest.h>

#include "engine/runtime/run_queue.h"
#include "engine/runtime/scope.h"

namespace lockstep::fakes::redis {
namespace {

using engine::Outcome;
using engine::OutcomeKind;
using engine::RedisScript;

class InlineExecutor final : public engine::RunQueue {
public:
    [[nodiscard]] engine::MonoTime monotonic() const override { return {}; }
    void unhandled(std::exception_ptr error) override { std::rethrow_exception(error); }
};

template <class T>
engine::Task<void> keep(engine::Task<T> task, std::optional<T>& result) {
    result.emplace(co_await std::move(task));
}

/// The result of a port call, which a DirectRedis answers at once.
template <class T>
T now(engine::Task<T> task) {
    InlineExecutor executor;
    engine::Scope scope(executor);
    std::optional<T> result;
    scope.spawn(keep(std::move(task), result));
    executor.run_ready({});
    return std::move(result.value());
}

TEST(DirectRedis, AnswersCommands) {
    DirectRedis redis;
    const auto set = now(redis.command({"SET", "k", "v"}, {}));
    EXPECT_TRUE(set.applied());
    const auto get = now(redis.command({"GET", "k"}, {}));
    EXPECT_EQ(get.value().text(), "v");
}

TEST(DirectRedis, IsTaughtAScriptThatItDoesNotKnow) {
    DirectRedis redis;
    const RedisScript script("sum", "-- name: sum\nreturn tonumber(ARGV[1]) + redis.call('incr', KEYS[1])");
    const auto first = now(redis.script(script, {"counter"}, {"10"}, {}));
    EXPECT_EQ(first.value().integer_or(0), 11);
    EXPECT_EQ(redis.exchanges(), 2U);  // EVALSHA, then SCRIPT LOAD with EVALSHA
    const auto second = now(redis.script(script, {"counter"}, {"10"}, {}));
    EXPECT_EQ(second.value().integer_or(0), 12);
    EXPECT_EQ(redis.exchanges(), 3U);
}

TEST(DirectRedis, KeysExpireAsTheClockPassesTheirTime) {
    DirectRedis redis;
    redis.run({"SET", "k", "v", "PX", "100"});
    redis.advance(std::chrono::milliseconds(100));
    EXPECT_EQ(redis.run({"EXISTS", "k"}).integer_or(-1), 1);
    redis.advance(std::chrono::milliseconds(1));
    EXPECT_EQ(redis.run({"EXISTS", "k"}).integer_or(-1), 0);
}

TEST(DirectRedis, RoundsTheSecondsOfTtlToTheNearest) {
    DirectRedis redis;
    redis.run({"SET", "k", "v", "PX", "1500"});
    EXPECT_EQ(redis.run({"TTL", "k"}).integer_or(0), 2);
    redis.advance(std::chrono::milliseconds(1));
    EXPECT_EQ(redis.run({"TTL", "k"}).integer_or(0), 1);
    EXPECT_EQ(redis.run({"PTTL", "k"}).integer_or(0), 1499);
}

TEST(DirectRedis, TwoClientsOfOneServerDisturbEachOthersTransactions) {
    DirectRedis one;
    DirectRedis two(one);
    one.run({"WATCH", "k"});
    two.run({"SET", "k", "foreign"});
    one.run({"MULTI"});
    one.run({"SET", "k", "own"});
    EXPECT_TRUE(one.run({"EXEC"}).is_nil());
    EXPECT_EQ(two.run({"GET", "k"}).text(), "foreign");
}

TEST(DirectRedis, AFaultKeepsACommandFromBeingAppliedOrLosesItsAnswer) {
    DirectRedis redis;
    redis.fault = [](const engine::RedisCommand&) { return CallFault::not_applied; };
    EXPECT_EQ(now(redis.command({"INCR", "n"}, {})).kind(), OutcomeKind::not_applied);
    redis.fault = [](const engine::RedisCommand&) { return CallFault::unknown; };
    EXPECT_EQ(now(redis.command({"INCR", "n"}, {})).kind(), OutcomeKind::unknown);
    redis.fault = nullptr;
    EXPECT_EQ(redis.run({"GET", "n"}).text(), "1");
}

TEST(DirectRedis, AScriptThatFailsMidwayIsUnknownBecauseItsWritesStand) {
    DirectRedis redis;
    const RedisScript script("broken", "redis.call('set', KEYS[1], 'written')\nreturn redis.call('lpop', KEYS[1])");
    EXPECT_EQ(now(redis.script(script, {"k"}, {}, {})).kind(), OutcomeKind::unknown);
    EXPECT_EQ(redis.run({"GET", "k"}).text(), "written");
}

TEST(DirectRedis, AnExceptionOfAnObserverPassesThroughARunningScript) {
    struct Strict final : KeyspaceObserver {
        void string_set(NodeId, std::string_view, const std::string*, std::string_view, std::int64_t,
                        std::int64_t) override {
            throw std::logic_error("broken invariant");
        }
    };
    Strict strict;
    DirectRedis redis;
    redis.database().keyspace().add_observer(strict);
    EXPECT_THROW(redis.run({"EVAL", "redis.pcall('set', 'k', 'v') return 1", "0"}), std::logic_error);
    EXPECT_EQ(redis.run({"EVAL", "return 1", "0"}).integer_or(0), 1);
}

TEST(DirectRedis, AnObserverIsToldWhatItsClassOverrides) {
    struct OfHashes final : KeyspaceObserver {
        void hash_set(NodeId, std::string_view, std::string_view, const std::string*, std::string_view) override {}
    };
    constexpr KeyspaceChanges kHeard = changes_heard_by<OfHashes>();
    for (std::size_t change = 0; change < kKeyspaceChanges; ++change)
        EXPECT_EQ(kHeard[change], change == static_cast<std::size_t>(KeyspaceChange::hash_set)) << change;
}

TEST(DirectRedis, AServerThatLoadsItsDataRefusesAllButAFewCommands) {
    constexpr std::string_view kLoadingError = "LOADING Redis is loading the dataset in memory";
    DirectRedis redis;
    redis.run({"MULTI"});
    redis.run({"GET", "k"});
    redis.database().set_loading(true);
    EXPECT_EQ(redis.run({"EXEC"}).error()->text,
              "EXECABORT Transaction discarded because of: " + std::string(kLoadingError));
    EXPECT_EQ(redis.run({"GET", "k"}).error()->text, kLoadingError);
    EXPECT_EQ(redis.run({"EVAL", "return 1", "0"}).error()->text, kLoadingError);
    EXPECT_NE(redis.run({"TIME"}).array(), nullptr);
    redis.database().set_loading(false);
    EXPECT_TRUE(redis.run({"GET", "k"}).is_nil());
}

TEST(DirectRedis, ScanReturnsEveryKeyThatIsThereThroughoutWhileOthersComeAndGo) {
    DirectRedis redis;
    for (int i = 0; i < 100; ++i) redis.run({"SET", "stay:" + std::to_string(i), "x"});
    std::set<std::string> seen;
    std::string cursor = "0";
    int round = 0;
    do {
        const auto reply = redis.run({"SCAN", cursor, "COUNT", "7"});
        cursor = std::string(reply.at(0).text());
        for (const auto& key : *reply.at(1).array()) seen.insert(std::string(key.text()));
        redis.run({"SET", "come:" + std::to_string(round), "x"});
        redis.run({"DEL", "come:" + std::to_string(round - 2)});
        ++round;
    } while (cursor != "0");
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.contains("stay:" + std::to_string(i)));
}

}  // namespace
}  // namespace lockstep::fakes::redis
