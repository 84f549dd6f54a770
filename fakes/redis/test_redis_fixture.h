// A simulated Redis with clients in a manual world, and the words to talk to it. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "engine/runtime/scope.h"
#include "fakes/redis/client.h"
#include "fakes/redis/server.h"
#include "fakes/testing/manual_world.h"

namespace lockstep::fakes::redis {

using Replies = engine::Outcome<std::vector<engine::RedisValue>>;

/// A call on its way: what came of it, once something has.
class PendingCall {
public:
    [[nodiscard]] bool done() const { return result_.has_value(); }
    [[nodiscard]] const Replies& result() const { return result_.value(); }
    [[nodiscard]] engine::OutcomeKind kind() const { return result().kind(); }

private:
    friend class RedisInWorld;
    std::optional<Replies> result_;
};

class RedisInWorld : public ::testing::Test {
protected:
    static constexpr NodeId kServer{0};
    static constexpr NodeId kOne{1};
    static constexpr NodeId kTwo{2};

    explicit RedisInWorld(RedisServerOptions options = {}) : server(world, kServer, std::move(options)) {
        one.emplace(world, kOne, server);
        two.emplace(world, kTwo, server);
    }

    /// Starts a pipeline and leaves it on its way.
    void start(RedisClient& client, std::vector<engine::RedisCommand> commands, PendingCall& call,
               engine::Duration patience = std::chrono::seconds(2)) {
        scope.spawn(keep(client.pipeline(std::move(commands), world.now() + patience), call.result_));
    }
    /// Runs one command to its end.
    Replies run(RedisClient& client, engine::RedisCommand command,
                engine::Duration patience = std::chrono::seconds(2)) {
        PendingCall call;
        start(client, {std::move(command)}, call, patience);
        world.run_until([&call] { return call.done(); });
        return call.result();
    }
    /// One command that must be answered, with whatever reply.
    void apply(RedisClient& client, engine::RedisCommand command) {
        EXPECT_TRUE(run(client, std::move(command)).applied());
    }
    std::string text(RedisClient& client, engine::RedisCommand command) {
        const Replies replies = run(client, std::move(command));
        return replies.applied() ? std::string(replies.value().front().text()) : "(no answer)";
    }
    [[nodiscard]] bool exists(std::string_view key) const { return server.keyspace().find(key) != nullptr; }

    static engine::Task<void> keep(engine::Task<Replies> call, std::optional<Replies>& result) {
        result.emplace(co_await std::move(call));
    }

    testing::ManualWorld world;
    RedisServer server;
    std::optional<RedisClient> one;
    std::optional<RedisClient> two;
    engine::Scope scope{world.executor()};
};

}  // namespace lockstep::fakes::redis
