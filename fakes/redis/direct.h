// The Redis port on a simulated server without network or world: a call takes effect and answers at once, by a clock that
// the test moves. For tests of what stands on the port.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "fakes/redis/database.h"
#include "fakes/world.h"

namespace lockstep::fakes::redis {

class DirectRedis final : public engine::Redis {
public:
    /// A server of its own, empty, at 2026-01-01T00:00:00Z.
    DirectRedis();
    /// Another client of the same server.
    explicit DirectRedis(DirectRedis& other);
    ~DirectRedis() override;

    [[nodiscard]] Database& database() { return shared_->database; }
    [[nodiscard]] engine::WallTime now() const { return shared_->now; }
    /// Moves the server's clock; what expires meanwhile is removed.
    void advance(engine::Duration by);

    /// One command without the port's coroutine, for preparing and inspecting data.
    engine::RedisValue run(const engine::RedisCommand& command);

    /// Told of every command that any client of this server has executed, from now on.
    void on_executed(std::function<void(const engine::RedisCommand&)> tell) { shared_->executed = std::move(tell); }

    /// Asked before each exchange, with its first command: not_applied = it is not executed; unknown = it is, and the
    /// answer is lost.
    std::function<CallFault(const engine::RedisCommand& first)> fault;
    /// Exchanges and commands so far, refused ones included.
    [[nodiscard]] std::size_t exchanges() const { return exchanges_; }
    [[nodiscard]] std::size_t commands() const { return commands_; }

private:
    struct Shared {
        Database database;
        engine::WallTime now;
        std::function<void(const engine::RedisCommand&)> executed;
    };

    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> exchange(engine::RedisCommands commands,
                                                                            engine::MonoTime deadline) override;

    std::shared_ptr<Shared> shared_;
    Session session_;
    std::size_t exchanges_ = 0;
    std::size_t commands_ = 0;
};

}  // namespace lockstep::fakes::redis
