// What the tests of the Redis port's contract need of a world: a server that they can trouble, and clients of it. The same
// tests (redis_contract_test.cpp) are built twice: with the simulated server and client, and with a real redis-server and the
// daemon's binding.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/ports/redis.h"
#include "engine/redis/connection_options.h"

namespace lockstep::fakes::testing {

class ContractClient {
public:
    virtual ~ContractClient() = default;
    [[nodiscard]] virtual engine::Redis& port() = 0;
    [[nodiscard]] virtual bool connected() const = 0;
    [[nodiscard]] virtual std::uint64_t connections() const = 0;
};

class RedisContractWorld {
public:
    virtual ~RedisContractWorld() = default;

    [[nodiscard]] virtual engine::Executor& executor() = 0;
    /// Runs the world until `done` holds, for no longer than `limit` of its time. Answers whether it holds.
    virtual bool run_until(const std::function<bool()>& done, engine::Duration limit) = 0;

    /// A client that connects. The server takes it without a password, and with none that there is.
    [[nodiscard]] virtual std::unique_ptr<ContractClient> client(engine::RedisConnectionOptions options,
                                                                 const std::string& password = {}) = 0;
    /// One command past the port under test, to prepare and to look. REQUIRES: the server is up and not frozen.
    virtual engine::RedisValue run(engine::RedisCommand command) = 0;

    /// The server's process dies; and is there again, empty.
    virtual void kill() = 0;
    virtual void start() = 0;
    /// Once more at once, with data to load: it answers LOADING for two seconds at least, and some at most.
    virtual void start_loading() = 0;
    /// The server says nothing, and hears what was sent once it is thawed.
    virtual void freeze() = 0;
    virtual void thaw() = 0;
    /// SET is refused with READONLY from now on; and is not any more.
    virtual void demote() = 0;
    virtual void promote() = 0;
    /// A command whose reply takes the server half a second. It may be an error.
    [[nodiscard]] virtual engine::RedisCommand slow_command() = 0;

    /// How often clients have sent a command of this name (in capitals) since the last start.
    [[nodiscard]] virtual std::uint64_t commands_seen(const std::string& name) = 0;
};

/// With the server up; null where the program for it is not installed.
[[nodiscard]] std::unique_ptr<RedisContractWorld> make_redis_contract_world();

}  // namespace lockstep::fakes::testing
