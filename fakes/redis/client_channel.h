// The connection behind a RedisClient: what waits to be sent, what is in flight, and what becomes of it. Owned by the
// client; whatever the world still holds of it refers to it weakly or finds it shut down.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/runtime/one_shot.h"
#include "fakes/redis/client.h"
#include "fakes/redis/server.h"

namespace lockstep::fakes::redis {

class ClientChannel final : public ReplySink, public std::enable_shared_from_this<ClientChannel> {
public:
    using Answer = engine::Outcome<std::vector<engine::RedisValue>>;
    using Sender = engine::OneShot<Answer>::Sender;

    ClientChannel(World& world, NodeId node, RedisServer& server, RedisClientOptions options);

    /// Announces the commands, sends them as soon as there is a connection, and answers through `sender` (never, when an
    /// announcement killed the node).
    void submit(std::vector<engine::RedisCommand> commands, engine::MonoTime deadline, Sender sender);
    /// The owner is gone: hangs up, and nothing happens any more.
    void shut_down();
    [[nodiscard]] bool connected() const { return connection_ != nullptr; }

    void on_replies(std::uint64_t link, std::vector<ServerReply> replies) override;

private:
    class Link;
    struct Request {
        RedisServer::Commands commands;
        engine::MonoTime deadline;
        Sender sender;
        CallFault fault = CallFault::none;
        std::vector<ServerReply> replies;
    };
    enum class State : std::uint8_t { idle, connecting, connected, backing_off };

    [[nodiscard]] bool announce(const std::vector<engine::RedisCommand>& commands);
    [[nodiscard]] CallFault fault_for(const std::vector<engine::RedisCommand>& commands);
    /// Tells that the request is over and answers it; false when that killed the node.
    bool finish(Request& request, EventOutcome outcome, Answer answer);

    void connect();
    void on_connected(std::uint64_t attempt, std::shared_ptr<Connection> connection);
    void attempt_failed();
    void send(Request request);
    void on_broken(std::uint64_t link);
    /// Hangs up; everything in flight becomes unknown.
    void drop_connection();
    /// From this request on nothing gets through: the connection dies, or goes silent until a deadline.
    void cut_connection();
    void fail_in_flight(engine::MonoTime now);

    void watch_deadline(engine::MonoTime deadline);
    void on_deadline();

    World& world_;
    const NodeId node_;
    RedisServer& server_;
    const RedisClientOptions options_;

    State state_ = State::idle;
    std::uint64_t attempt_ = 0;  // numbers connections and attempts; what belongs to an older one is ignored
    engine::Duration reconnect_delay_;
    std::shared_ptr<Link> link_;
    std::shared_ptr<Connection> connection_;
    bool stalled_ = false;  // an answer was lost on this connection, so none can be read any more
    bool cut_ = false;      // a request was lost on it, so none arrives any more
    std::deque<Request> waiting_;
    std::deque<Request> in_flight_;
    std::optional<World::TimerId> deadline_timer_;
    engine::MonoTime deadline_timer_for_{};
    bool shut_ = false;
};

}  // namespace lockstep::fakes::redis
