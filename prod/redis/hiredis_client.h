// The Redis port on the daemon's loop: the engine's connection (engine/redis/connection.h, which has the rules) over TCP.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/redis/connection.h"
#include "prod/redis/redis_url.h"
#include "prod/redis/tcp_transport.h"

namespace lockstep::prod {

class HiredisClient final : public engine::Redis {
public:
    /// Of the options, server and log-in are those of the address.
    HiredisClient(UvLoop& loop, const RedisAddress& address, engine::RedisConnectionOptions options = {});
    /// Answers what is in flight as *unknown*. REQUIRES: not inside a callback of this client.
    ~HiredisClient() override;
    HiredisClient(const HiredisClient&) = delete;
    HiredisClient& operator=(const HiredisClient&) = delete;

    [[nodiscard]] bool connected() const { return connection_.connected(); }
    /// Connections made so far, log-in included.
    [[nodiscard]] std::uint64_t connections() const { return connection_.connections(); }
    /// Why there is no connection; empty while there is one.
    [[nodiscard]] const std::string& last_error() const { return connection_.last_error(); }
    /// Called when a connection is made (empty text) and whenever one is lost or could not be made (why).
    void on_state(std::function<void(bool connected, const std::string& why)> listener) {
        connection_.on_state(std::move(listener));
    }

private:
    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> exchange(engine::RedisCommands commands,
                                                                            engine::MonoTime deadline) override;

    TcpTransport transport_;
    engine::RedisConnection connection_;
};

}  // namespace lockstep::prod
