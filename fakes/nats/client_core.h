// ClientCore: what a NatsClient is made of besides the port: its connection, with reconnecting and pings, its
// subscriptions, and the requests that wait for an answer. Deliveries and subscriptions refer to it weakly, so that they
// may outlive the client.
//
// 1. Nothing is buffered: what is sent while there is no connection is refused to the caller.
// 2. When the connection breaks, every request that it carried ends; when a new one is made, every subscription is
//    made again, first of all.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/bus/connection_policy.h"
#include "engine/runtime/wait.h"
#include "fakes/nats/protocol.h"
#include "fakes/nats/server.h"
#include "fakes/world.h"

namespace lockstep::fakes {

struct NatsClientOptions {
    engine::Duration reconnect_wait = std::chrono::seconds(2);           // before every attempt but the very first
    engine::Duration reconnect_jitter = std::chrono::milliseconds(100);  // at most this is added
    engine::Duration connect_timeout = std::chrono::seconds(2);
    /// The connection is given up when more than `pings_out_max` pings are unanswered.
    engine::Duration ping_interval = std::chrono::minutes(2);
    int pings_out_max = 2;
};

class ClientCore : public std::enable_shared_from_this<ClientCore> {
public:
    ClientCore(World& world, NatsServer& server, NodeId node, NatsClientOptions options)
        : world_(world),
          server_(server),
          node_(node),
          options_(options),
          policy_({.reconnect_wait = options.reconnect_wait,
                   .reconnect_jitter = options.reconnect_jitter,
                   .pings_out_max = options.pings_out_max}) {}

    void start() { connect(); }
    /// Nothing that is sent on this connection from now on arrives, and it breaks once the present step has ended.
    void cut();
    /// Hangs up for good. Requests stay unanswered, subscriptions hear nothing more.
    void shut_down();

    [[nodiscard]] engine::BusConnection connection() const {
        return {link_ != nullptr, connections_, server_process_, max_payload_};
    }
    [[nodiscard]] World& world() { return world_; }
    [[nodiscard]] NodeId node() const { return node_; }
    [[nodiscard]] NodeId server_node() const { return server_.options().node; }

    /// Runs `call(session)` on the server as the connection's next message; false when there is no connection.
    template <class Call>
    bool send(Call call) {
        if (!link_) return false;
        if (cut_) return true;  // written, and lost
        transport_->send_to_server([session = session_, call = std::move(call)]() mutable {
            const std::shared_ptr<NatsSession> alive = session.lock();
            if (alive && !alive->ended()) call(*alive);
        });
        return true;
    }

    /// A request that waits for its answer, for as long as the object lives.
    class Request {
    public:
        explicit Request(ClientCore& core);
        Request(const Request&) = delete;
        Request& operator=(const Request&) = delete;
        ~Request();

        [[nodiscard]] RequestId id() const { return id_; }
        /// The connection in use when it was made.
        [[nodiscard]] std::uint64_t connection() const { return connection_; }
        /// `co_await` it: continues when the answer is there, the connection has broken, or the deadline has passed.
        [[nodiscard]] engine::WaitQueue::Waiter ended_by(engine::MonoTime deadline) {
            return done_.wait_until(deadline);
        }

        std::optional<NatsReply> reply;
        bool broken = false;

    private:
        friend class ClientCore;
        std::weak_ptr<ClientCore> core_;
        RequestId id_;
        std::uint64_t connection_;
        engine::WaitQueue done_;
    };

    std::uint64_t subscribe(std::string pattern, std::string queue, engine::MessageSink& sink);
    std::uint64_t bind(std::shared_ptr<const engine::ConsumerSpec> spec, engine::DeliverySink& sink);
    void unsubscribe(std::uint64_t sid);
    /// The server hands this subscription nothing more, here or on a later connection; what is on its way still arrives.
    void pause(std::uint64_t sid);
    void resume(std::uint64_t sid);

    /// Sends an answer if there is a connection to send it on; it is lost otherwise.
    void send_answer(const std::shared_ptr<const HandedMessage>& handed, DeliveryAnswer answer);

private:
    /// The client's end of one connection or of the attempt to make it. Outlives both.
    class Link;

    struct Subscribed {
        std::string pattern;
        std::string queue;
        engine::MessageSink* messages = nullptr;  // of a core subscription
        std::shared_ptr<const engine::ConsumerSpec> consumer;
        engine::DeliverySink* deliveries = nullptr;  // of a consumer
        bool paused = false;
    };

    void connect();
    /// The server of the simulation asks nobody for credentials, so that no attempt is ever refused.
    void connect_later(engine::ConnectionEnd end);
    void on_attempt_timed_out() { connect_later(engine::ConnectionEnd::unreachable); }
    void on_connected(const std::shared_ptr<Link>& link, std::shared_ptr<Connection> connection);
    void on_welcome(const Link& link, std::weak_ptr<NatsSession> session, std::string server,
                    std::uint64_t max_payload);
    void on_broken(const Link& link);
    void lose_connection();
    void announce(std::uint64_t sid, const Subscribed& subscribed);
    void on_pong(const Link& link);
    void ping();
    void on_reply(RequestId request, NatsReply reply);
    void on_core(std::uint64_t sid, const MessagePtr& message);
    void on_delivery(std::uint64_t sid, const MessagePtr& message, const DeliveryReceipt& receipt);

    void arm(World::TimerId& timer, engine::Duration delay, void (ClientCore::*then)());

    World& world_;
    NatsServer& server_;
    const NodeId node_;
    const NatsClientOptions options_;
    engine::ConnectionPolicy policy_;

    std::shared_ptr<Link> attempt_;  // a connection in the making
    std::shared_ptr<Link> link_;     // the connection in use
    std::shared_ptr<Connection> transport_;
    std::weak_ptr<NatsSession> session_;
    std::uint64_t connections_ = 0;
    std::string server_process_;
    std::uint64_t max_payload_ = 0;
    bool cut_ = false;  // nothing arrives any more on the connection in use
    World::TimerId connect_timer_ = 0;
    World::TimerId ping_timer_ = 0;

    std::map<RequestId, Request*> requests_;
    RequestId last_request_ = 0;
    std::map<std::uint64_t, Subscribed> subscribed_;
    std::uint64_t last_sid_ = 0;
};

}  // namespace lockstep::fakes
