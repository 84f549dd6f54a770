// What the binding does for the contract of the Redis port (fakes/testing/redis_contract_test.cpp): bytes, names, addresses,
// log-in, and a loop of its own, against a real redis-server.
#include "prod/redis/hiredis_client.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "engine/store/scripts.h"
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

// O12
TEST_F(HiredisClientTest, TellsHowMuchOfALocksLifeWasLeftWhenItWasRenewed) {
    HiredisClient client(loop, address());
    ASSERT_TRUE(connect(client));
    const engine::StoreScripts scripts;
    std::vector<std::pair<engine::Duration, engine::Duration>> told;
    client.on_renewal(scripts.renew_lock,
                      [&](engine::Duration left, engine::Duration life) { told.emplace_back(left, life); });
    const auto renew = [&](const std::string& lock) {
        return wait(client.script(scripts.renew_lock, {lock}, {"T1", "60000"}, in(5s))).value().integer_or(-1);
    };
    ask(client, {"SET", "lock", "T1", "PX", "20000"});
    EXPECT_EQ(renew("lock"), 1) << "the script is not known yet, so its text was sent";
    ask(client, {"PEXPIRE", "lock", "20000"});
    told.clear();
    EXPECT_EQ(renew("lock"), 1);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_LE(told[0].first, 20s);
    EXPECT_GT(told[0].first, 10s);
    EXPECT_EQ(told[0].second, 60s);
    EXPECT_GT(*ask(client, {"PTTL", "lock"}).integer(), 20'000);
    EXPECT_EQ(renew("expired"), 0);
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[1].first, 0s);
}

TEST_F(HiredisClientTest, TellsHowLongAnExchangeTookAndWhatBecameOfIt) {
    HiredisClient client(loop, address());
    ASSERT_TRUE(connect(client));
    std::vector<std::pair<engine::Duration, OutcomeKind>> told;
    client.on_exchange([&](engine::Duration took, OutcomeKind kind) { told.emplace_back(took, kind); });
    ask(client, {"SET", "a", "1"});
    ask(client, {"BLPOP", "nothing", "0.2"});
    freeze();
    EXPECT_FALSE(wait(client.command({"GET", "a"}, in(100ms))).applied());
    ASSERT_EQ(told.size(), 3U);
    EXPECT_EQ(told[0].second, OutcomeKind::applied);
    EXPECT_GE(told[1].first, 200ms);
    EXPECT_EQ(told[2].second, OutcomeKind::unknown);
    EXPECT_GE(told[2].first, 100ms);
    server->thaw();
}

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
        const auto outcome = wait(client.command({"GET", "x"}, in(300ms)));
        EXPECT_EQ(outcome.kind(), OutcomeKind::not_applied);
        EXPECT_NE(outcome.failure().detail.find("refused the log-in"), std::string::npos) << outcome.failure().detail;
    }
}

TEST_F(HiredisClientTest, TriesEveryAddressOfAName) {
    // The name stands for ::1 and 127.0.0.1 on most machines; the server listens on the second only.
    HiredisClient client(loop, {.host = "localhost", .port = server->port()});
    EXPECT_TRUE(connect(client)) << client.last_error();
}

TEST_F(HiredisClientTest, NamesADeadPortInWhatItAnswers) {
    const fakes::testing::ReservedPort nobody;
    HiredisClient client(loop, {.host = "127.0.0.1", .port = nobody.number()});
    const auto outcome = wait(client.command({"SET", "x", "1"}, in(200ms)));
    ASSERT_EQ(outcome.kind(), OutcomeKind::not_applied);
    EXPECT_EQ(outcome.failure().detail,
              fmt::format("not sent before the deadline: redis://127.0.0.1:{}: connection refused", nobody.number()));
}

TEST_F(HiredisClientTest, ANameThatDoesNotResolveIsNamed) {
    HiredisClient client(loop, {.host = "no-such-host.invalid", .port = 1});
    ASSERT_TRUE(loop.run_until(
        [&] { return client.last_error().find("cannot resolve no-such-host.invalid") != std::string::npos; }, 10s))
        << client.last_error();
}

/// Says `words` to the first who connects, and keeps the connection until that one hangs up.
class Babbler {
public:
    explicit Babbler(std::string words) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(name);
        if (::bind(listener_, reinterpret_cast<const sockaddr*>(&name), size) != 0 || ::listen(listener_, 8) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size) != 0)
            throw std::runtime_error("cannot listen");
        port_ = ntohs(name.sin_port);
        thread_ = std::thread([this, words = std::move(words)] {
            const int guest = ::accept(listener_, nullptr, nullptr);
            (void)::send(guest, words.data(), words.size(), MSG_NOSIGNAL);
            char heard[1024];
            while (::recv(guest, heard, sizeof heard, 0) > 0) {
            }
            ::close(guest);
        });
    }
    Babbler(const Babbler&) = delete;
    Babbler& operator=(const Babbler&) = delete;
    ~Babbler() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    [[nodiscard]] int port() const { return port_; }

private:
    int listener_;
    int port_ = 0;
    std::thread thread_;
};

TEST_F(HiredisClientTest, WhatIsNoReplyAndAReplyThatNobodyWaitsForEndTheConnection) {
    const std::pair<std::string, std::string> cases[] = {
        {"+PONG\r\nHTTP/1.1 400 Bad Request\r\n", "what it sends is no reply"},
        {"+PONG\r\n:1\r\n", "nobody waits for"},
    };
    for (const auto& [words, why] : cases) {
        const Babbler babbler(words);
        HiredisClient client(loop, {.host = "127.0.0.1", .port = babbler.port()});
        std::string lost;
        client.on_state([&](bool connected, const std::string& reason) {
            if (!connected && lost.empty()) lost = reason;
        });
        EXPECT_TRUE(loop.run_until([&] { return !lost.empty(); }, 5s));
        EXPECT_NE(lost.find(why), std::string::npos) << lost;
        EXPECT_EQ(client.connections(), 1U);
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
