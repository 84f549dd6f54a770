// What carries the calls of a RedisClient through the simulated world: it tells of them, does to them what the fault plan
// says, and brings them to the server and the replies back. What waits, what is given up and what a call is answered is
// decided by the connection that it carries (engine/redis/connection.h).
//
// Owned by the client; whatever the world still holds of it refers to it weakly or finds it shut down.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/redis/connection.h"
#include "engine/runtime/one_shot.h"
#include "fakes/redis/server.h"

namespace lockstep::fakes::redis {

class ClientChannel final : public engine::RedisTransport,
                            public ReplySink,
                            public std::enable_shared_from_this<ClientChannel> {
public:
    using Sender = engine::OneShot<engine::RedisCall::Answer>::Sender;

    ClientChannel(World& world, NodeId node, RedisServer& server, engine::RedisConnectionOptions options);

    /// REQUIRES: owned by a shared_ptr.
    void open() { connection_.open(); }
    /// Announces the commands and hands them to the connection, which answers through `sender` (never, when an announcement
    /// killed the node).
    void submit(engine::RedisCommands commands, engine::MonoTime deadline, Sender sender);
    /// The owner is gone: hangs up, and nothing happens any more.
    void shut_down();
    [[nodiscard]] const engine::RedisConnection& connection() const { return connection_; }

    void on_replies(std::uint64_t link, std::vector<ServerReply> replies) override;

private:
    class Link;
    class Call;
    /// A call on the wire.
    struct Written {
        std::size_t replies;  // still to come
        CallFault fault;
    };

    void connect() override;
    [[nodiscard]] bool write(const engine::RedisCommands& commands) override;
    void close() override;
    [[nodiscard]] engine::MonoTime now() const override { return world_.monotonic(node_); }
    void wake_at(engine::MonoTime when) override;

    [[nodiscard]] bool announce(const std::vector<engine::RedisCommand>& commands);
    [[nodiscard]] CallFault fault_for(const std::vector<engine::RedisCommand>& commands);
    [[nodiscard]] bool tell_answer(const std::vector<engine::RedisCommand>& commands,
                                   const engine::RedisCall::Answer& answer);

    void on_attempt(std::uint64_t attempt, std::shared_ptr<Connection> connection);
    void on_broken(std::uint64_t link);
    /// The connection dies, as the fault plan wants it.
    void die();
    /// From this request on nothing gets through: the connection dies, or goes silent.
    void cut();

    World& world_;
    const NodeId node_;
    RedisServer& server_;

    std::uint64_t attempt_ = 0;  // numbers connections and attempts; what belongs to an older one is ignored
    std::shared_ptr<Link> link_;
    std::shared_ptr<Connection> wire_;
    std::deque<Written> written_;
    bool stalled_ = false;  // an answer was lost on this connection, so none can be read any more
    bool cut_ = false;      // a request was lost on it, so none arrives any more
    std::vector<std::pair<const void*, CallFault>>
        planned_;  // faults of calls that are not written yet, by their commands
    std::optional<World::TimerId> timer_;
    bool shut_ = false;

    engine::RedisConnection connection_;
};

}  // namespace lockstep::fakes::redis
