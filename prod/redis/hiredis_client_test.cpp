// The contract of the Redis port, held by the binding against a real redis-server.
#include "prod/redis/hiredis_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"
#include "prod/loop/system_clock.h"
#include "prod/loop/test_wait.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;
using engine::OutcomeKind;
using engine::RedisCommand;
using engine::RedisValue;
using fakes::testing::ServerProcess;

ServerProcess::CommandLine redis_server(std::string password = "") {
    return [password](int port, const std::filesystem::path& folder) {
        auto line = fakes::testing::redis_server_line(port, folder);
        if (!password.empty()) line.insert(line.end(), {"--requirepass", password});
        return line;
    };
}

class HiredisClientTest : public testing::Test {
protected:
    HiredisClientTest() {
        if (!fakes::testing::find_program("redis-server")) return;
        server.emplace(redis_server());
    }

    void SetUp() override {
        if (!server) GTEST_SKIP() << "redis-server is not installed";
    }

    [[nodiscard]] RedisAddress address() const { return {.host = "127.0.0.1", .port = server->port()}; }
    [[nodiscard]] engine::MonoTime in(engine::Duration delay) const { return loop.monotonic() + delay; }

    template <class T>
    T wait(engine::Task<T> task) {
        return carry_out(loop, std::move(task));
    }
    RedisValue ask(HiredisClient& client, RedisCommand command) {
        auto outcome = wait(client.command(std::move(command), in(5s)));
        EXPECT_TRUE(outcome.applied()) << (outcome.applied() ? "" : outcome.failure().detail);
        return outcome.applied() ? outcome.value() : RedisValue();
    }
    bool connect(HiredisClient& client) {
        return loop.run_until([&] { return client.connected(); }, 10s);
    }

    /// Stops the server, and waits a moment: the signal reaches its threads one after the other.
    void freeze() {
        server->freeze();
        loop.run_until([] { return false; }, 50ms);
    }

    UvLoop loop;
    std::optional<ServerProcess> server;
};

TEST_F(HiredisClientTest, CarriesEveryKindOfReplyAndAnyBytes) {
    HiredisClient client(loop, address());
    const std::string bytes("\0\r\n$5\xff\x80 x", 10);
    EXPECT_EQ(ask(client, {"SET", bytes, bytes}).status()->text, "OK");
    EXPECT_EQ(*ask(client, {"GET", bytes}).bulk(), bytes);
    EXPECT_TRUE(ask(client, {"GET", "absent"}).is_nil());
    EXPECT_EQ(*ask(client, {"INCRBY", "n", "9007199254740993"}).integer(), 9007199254740993);
    ask(client, {"RPUSH", "l", "a", "b"});
    const auto list = ask(client, {"LRANGE", "l", "0", "-1"});
    ASSERT_NE(list.array(), nullptr);
    EXPECT_EQ(list.at(1).text(), "b");
}

TEST_F(HiredisClientTest, AnErrorReplyIsNotApplied) {
    HiredisClient client(loop, address());
    ask(client, {"SET", "s", "text"});
    const auto outcome = wait(client.command({"INCR", "s"}, in(5s)));
    EXPECT_EQ(outcome.kind(), OutcomeKind::not_applied);
    EXPECT_NE(outcome.failure().detail.find("not an integer"), std::string::npos);
}

TEST_F(HiredisClientTest, APipelineAnswersInOrderAndKeepsErrorsAmongTheValues) {
    HiredisClient client(loop, address());
    std::vector<RedisCommand> commands;
    for (int i = 0; i < 1000; ++i) commands.push_back({"RPUSH", "order", std::to_string(i)});
    commands.push_back({"GET", "order"});
    const auto replies = wait(client.pipeline(commands, in(5s)));
    ASSERT_TRUE(replies.applied());
    ASSERT_EQ(replies.value().size(), 1001U);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(*replies.value()[static_cast<std::size_t>(i)].integer(), i + 1);
    EXPECT_NE(replies.value().back().error(), nullptr);
}

TEST_F(HiredisClientTest, CallsThatOverlapGetTheirOwnReplies) {
    HiredisClient client(loop, address());
    std::vector<std::optional<engine::Outcome<RedisValue>>> slots(500);
    engine::Scope scope(loop);
    for (std::size_t i = 0; i < slots.size(); ++i)
        scope.spawn(keep(client.command({"ECHO", std::to_string(i)}, in(5s)), slots[i]));
    ASSERT_TRUE(loop.run_until([&] { return scope.empty(); }, 10s));
    for (std::size_t i = 0; i < slots.size(); ++i) EXPECT_EQ(slots[i]->value().text(), std::to_string(i));
}

TEST_F(HiredisClientTest, RunsAScriptByItsHashAndTeachesItToAServerThatForgot) {
    HiredisClient client(loop, address());
    const engine::RedisScript script("adds", "return redis.call('INCRBY', KEYS[1], ARGV[1])");
    EXPECT_EQ(*wait(client.script(script, {"k"}, {"2"}, in(5s))).value().integer(), 2);
    ask(client, {"SCRIPT", "FLUSH"});
    EXPECT_EQ(*wait(client.script(script, {"k"}, {"3"}, in(5s))).value().integer(), 5);
}

TEST_F(HiredisClientTest, AScriptThatFailsMidwayIsUnknown) {
    HiredisClient client(loop, address());
    const engine::RedisScript script("breaks", "redis.call('SET', KEYS[1], 'half') return redis.call('INCR', KEYS[1])");
    EXPECT_EQ(wait(client.script(script, {"k"}, {}, in(5s))).kind(), OutcomeKind::unknown);
    EXPECT_EQ(ask(client, {"GET", "k"}).text(), "half");
}

// Its address may name another server by now.
TEST_F(HiredisClientTest, ADemotedPrimaryIsLeft) {
    HiredisClient client(loop, address());
    HiredisClient admin(loop, address());
    ask(client, {"SET", "k", "v"});
    ask(admin, {"REPLICAOF", "127.0.0.1", "1"});
    int losses = 0;
    client.on_state([&](bool connected, const std::string& why) {
        if (connected) return;
        ++losses;
        EXPECT_NE(why.find("replica"), std::string::npos) << why;
    });
    EXPECT_FALSE(wait(client.command({"SET", "k", "w"}, in(5s))).applied());
    EXPECT_EQ(losses, 1);
    ask(admin, {"REPLICAOF", "NO", "ONE"});
    ASSERT_TRUE(connect(client));
    ask(client, {"SET", "k", "w"});
}

TEST_F(HiredisClientTest, LogsInAndSelectsTheDatabase) {
    ServerProcess guarded(redis_server("sesame"));
    HiredisClient client(loop, {.host = "127.0.0.1", .port = guarded.port(), .password = "sesame", .database = 2});
    ask(client, {"SET", "where", "two"});
    HiredisClient other(loop, {.host = "127.0.0.1", .port = guarded.port(), .password = "sesame"});
    EXPECT_TRUE(ask(other, {"GET", "where"}).is_nil());
}

TEST_F(HiredisClientTest, AWrongPasswordIsNotAppliedAndNamed) {
    ServerProcess guarded(redis_server("sesame"));
    for (const std::string password : {"", "wrong"}) {
        HiredisClient client(loop, {.host = "127.0.0.1", .port = guarded.port(), .password = password});
        const auto outcome = wait(client.command({"GET", "x"}, in(5s)));
        EXPECT_EQ(outcome.kind(), OutcomeKind::not_applied);
        EXPECT_NE(outcome.failure().detail.find("refused the log-in"), std::string::npos) << outcome.failure().detail;
    }
}

TEST_F(HiredisClientTest, ADeadPortIsNotApplied) {
    const fakes::testing::ReservedPort nobody;
    HiredisClient client(loop, {.host = "127.0.0.1", .port = nobody.number()});
    auto outcome = wait(client.command({"SET", "x", "1"}, in(5s)));
    EXPECT_EQ(outcome.kind(), OutcomeKind::not_applied);
    EXPECT_EQ(outcome.failure().cause, engine::FailureCause::disconnected);
}

TEST_F(HiredisClientTest, TriesEveryAddressOfAName) {
    // The name stands for ::1 and 127.0.0.1 on most machines; the server listens on the second only.
    HiredisClient client(loop, {.host = "localhost", .port = server->port()});
    EXPECT_TRUE(connect(client)) << client.last_error();
}

TEST_F(HiredisClientTest, AnOverdueReplyMakesEverythingInFlightUnknownAndTheConnectionAnew) {
    HiredisClient client(loop, address());
    ASSERT_TRUE(connect(client));
    loop.run_until([] { return false; }, 1100ms);  // an established connection, not a short-lived one
    freeze();
    std::optional<engine::Outcome<RedisValue>> early;
    std::optional<engine::Outcome<RedisValue>> late;
    engine::Scope scope(loop);
    scope.spawn(keep(client.command({"SET", "late", "1"}, in(60s)), late));
    scope.spawn(keep(client.command({"SET", "early", "1"}, in(200ms)), early));
    ASSERT_TRUE(loop.run_until([&] { return scope.empty(); }, 5s));
    EXPECT_EQ(early->kind(), OutcomeKind::unknown);
    EXPECT_EQ(early->failure().cause, engine::FailureCause::timeout);
    EXPECT_EQ(late->kind(), OutcomeKind::unknown);

    // A frozen server accepts connections and answers nothing: nothing is sent to it.
    EXPECT_EQ(wait(client.command({"SET", "frozen", "1"}, in(300ms))).kind(), OutcomeKind::not_applied);
    server->thaw();
    EXPECT_TRUE(connect(client));
    EXPECT_EQ(client.connections(), 2U);
    EXPECT_TRUE(ask(client, {"GET", "frozen"}).is_nil());
}

TEST_F(HiredisClientTest, AKilledServerMakesWhatWasSentUnknown) {
    HiredisClient client(loop, address());
    ASSERT_TRUE(connect(client));
    freeze();
    std::vector<std::optional<engine::Outcome<RedisValue>>> slots(100);
    engine::Scope scope(loop);
    for (auto& slot : slots) scope.spawn(keep(client.command({"INCR", "n"}, in(60s)), slot));
    loop.run_until([] { return false; }, 50ms);
    server->kill();
    ASSERT_TRUE(loop.run_until([&] { return scope.empty(); }, 5s));
    for (const auto& slot : slots) EXPECT_EQ(slot->kind(), OutcomeKind::unknown);
    EXPECT_TRUE(loop.run_until([&] { return !client.connected(); }, 5s));
    EXPECT_EQ(wait(client.command({"INCR", "n"}, in(5s))).kind(), OutcomeKind::not_applied);
    server->start();
    EXPECT_TRUE(connect(client));
    EXPECT_EQ(*ask(client, {"INCR", "n"}).integer(), 1);
}

TEST_F(HiredisClientTest, ACancelledCallLeavesTheConnectionInOrder) {
    HiredisClient client(loop, address());
    ASSERT_TRUE(connect(client));
    for (int i = 0; i < 20; ++i) {
        std::optional<engine::Outcome<RedisValue>> slot;
        engine::Scope scope(loop);
        scope.spawn(keep(client.command({"ECHO", "gone"}, in(5s)), slot));
        loop.run_until([] { return true; }, 1ms);
        scope.cancel();
        EXPECT_EQ(ask(client, {"ECHO", std::to_string(i)}).text(), std::to_string(i));
    }
}

TEST_F(HiredisClientTest, ADestroyedClientAnswersWhatWasInFlight) {
    std::optional<engine::Outcome<RedisValue>> slot;
    engine::Scope scope(loop);
    {
        HiredisClient client(loop, address());
        ASSERT_TRUE(connect(client));
        freeze();
        scope.spawn(keep(client.command({"INCR", "n"}, in(60s)), slot));
        loop.run_until([] { return false; }, 20ms);
    }
    ASSERT_TRUE(loop.run_until([&] { return scope.empty(); }, 5s));
    EXPECT_EQ(slot->kind(), OutcomeKind::unknown);
    server->thaw();
}

}  // namespace
}  // namespace lockstep::prod
