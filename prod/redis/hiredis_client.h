// The Redis port on the daemon's loop: the engine's connection (engine/redis/connection.h, which has the rules) over TCP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

    // Listeners may be told of a call that was in flight when the client went, so what they use outlives the loop's last step.

    /// Called after each exchange with how long it took and what became of it.
    using ExchangeListener = std::function<void(engine::Duration took, engine::OutcomeKind kind)>;
    void on_exchange(ExchangeListener listener) {
        exchanged_ = std::make_shared<const ExchangeListener>(std::move(listener));
    }

    /// Called with what Redis had left of a lock's life when it came to renew it, and the whole life. A renewal then carries a
    /// PTTL in front of it; nothing else costs anything. `renewal` outlives this client.
    using LeaseListener = std::function<void(engine::Duration left, engine::Duration life)>;
    void on_renewal(const engine::RedisScript& renewal, LeaseListener listener) {
        renewal_ = &renewal;
        renewed_ = std::make_shared<const LeaseListener>(std::move(listener));
    }

private:
    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> exchange(engine::RedisCommands commands,
                                                                            engine::MonoTime deadline) override;

    [[nodiscard]] bool is_renewal(const std::vector<engine::RedisCommand>& commands) const;
    [[nodiscard]] engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> submit(engine::RedisCommands commands,
                                                                                        engine::MonoTime deadline);
    [[nodiscard]] engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> renew(engine::RedisCommands commands,
                                                                                       engine::MonoTime deadline);

    UvLoop& loop_;
    std::shared_ptr<const ExchangeListener> exchanged_;
    const engine::RedisScript* renewal_ = nullptr;
    std::shared_ptr<const LeaseListener> renewed_;
    TcpTransport transport_;
    engine::RedisConnection connection_;
};

}  // namespace lockstep::prod
