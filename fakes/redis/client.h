// The Redis port of one node of the simulated world: one pipelined connection, made on demand and made again after it
// broke, with the failures that the production binding shows.
//
// - No connection yet: commands wait; those whose deadline passes meanwhile are *not applied*.
// - The deadline of a command that was sent: the connection is dropped, because a late reply could not be told from the
//   next one's, and everything in flight becomes *unknown*. So it does when the connection breaks.
//
// Tells an Event{redis} per command: before (payload = the command), at the server applied (payload = the reply), and
// answered (outcome, payload = the reply). When an event kills the node, the call never returns.
#pragma once

#include <memory>

#include "fakes/redis/server.h"
#include "fakes/world.h"

namespace lockstep::fakes::redis {

class ClientChannel;

struct RedisClientOptions {
    engine::Duration connect_timeout = std::chrono::seconds(1);
    /// The pause after a failed attempt, doubled up to the second.
    engine::Duration reconnect_delay = std::chrono::milliseconds(100);
    engine::Duration reconnect_delay_max = std::chrono::seconds(1);
};

class RedisClient final : public engine::Redis {
public:
    /// World and server must outlive the client, which may be destroyed at any time.
    RedisClient(World& world, NodeId node, RedisServer& server, RedisClientOptions options = {});
    RedisClient(const RedisClient&) = delete;
    RedisClient& operator=(const RedisClient&) = delete;
    ~RedisClient() override;

    [[nodiscard]] bool connected() const;

private:
    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> exchange(std::vector<engine::RedisCommand> commands,
                                                                            engine::MonoTime deadline) override;

    std::shared_ptr<ClientChannel> channel_;
};

}  // namespace lockstep::fakes::redis
