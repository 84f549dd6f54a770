// The Redis port of one node of the simulated world: the connection that production uses, over a simulated network and with
// the failures that a fault plan asks for.
//
// Tells an Event{redis} per command of a call: before (payload = the command), at the server applied (payload = the reply),
// and answered (outcome, payload = the reply). Of what a connection sends for itself, to log in, only the server tells. When
// an event kills the node, the call never returns.
#pragma once

#include <memory>

#include "engine/redis/connection_options.h"
#include "fakes/redis/server.h"
#include "fakes/world.h"

namespace lockstep::fakes::redis {

class ClientChannel;

class RedisClient final : public engine::Redis {
public:
    /// World and server must outlive the client, which may be destroyed at any time.
    RedisClient(World& world, NodeId node, RedisServer& server, engine::RedisConnectionOptions options = {});
    RedisClient(const RedisClient&) = delete;
    RedisClient& operator=(const RedisClient&) = delete;
    ~RedisClient() override;

    [[nodiscard]] bool connected() const;
    /// Connections made so far.
    [[nodiscard]] std::uint64_t connections() const;

private:
    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> exchange(engine::RedisCommands commands,
                                                                            engine::MonoTime deadline) override;

    std::shared_ptr<ClientChannel> channel_;
};

}  // namespace lockstep::fakes::redis
