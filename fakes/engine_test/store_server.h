// The server that the store's tests run against. The same tests are built twice: once with the simulated server, once with
// a real redis-server.
#pragma once

#include <memory>

#include "engine/ports/redis.h"

namespace lockstep::fakes::engine_test {

class StoreServer {
public:
    virtual ~StoreServer() = default;
    /// The port that the store is given.
    [[nodiscard]] virtual engine::Redis& port() = 0;
    /// One command, past the port, for preparing and looking.
    virtual engine::RedisValue run(const engine::RedisCommand& command) = 0;
};

/// An empty server; null where the program for it is not installed.
[[nodiscard]] std::unique_ptr<StoreServer> connect_store_server();

}  // namespace lockstep::fakes::engine_test
