// NatsSession: the server's side of one connection. Clients call it through arrival actions; it knows what the client
// has subscribed to and where to send what the server has for it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "fakes/nats/outgoing.h"
#include "fakes/nats/protocol.h"
#include "fakes/nats/subscription_table.h"
#include "fakes/world.h"

namespace lockstep::fakes {

class NatsServer;

class NatsSession final : public ConnectionListener, public std::enable_shared_from_this<NatsSession> {
public:
    NatsSession(NatsServer& server, std::uint64_t id, std::shared_ptr<Connection> connection, NodeId client);

    [[nodiscard]] std::uint64_t id() const { return id_; }
    [[nodiscard]] NodeId client() const { return client_; }
    [[nodiscard]] const std::shared_ptr<Connection>& connection() const { return connection_; }

    // What the client asks for. An arrival after the end must not be passed on: the server has closed its socket.

    void hello(std::weak_ptr<NatsPeer> peer);
    void ping();
    /// With a request number the stream's answer is sent back, unless the fault plan loses it.
    void publish(const MessagePtr& message, RequestId request, bool lose_answer);
    void publish_core(const MessagePtr& message);
    void read(RequestId request, const std::string& stream, const std::string& subject, std::uint64_t from);
    void read_message(RequestId request, const std::string& stream, std::uint64_t sequence);
    void stream_state(RequestId request, const std::string& stream);
    void consumer_state(RequestId request, const std::string& stream, const std::string& durable);
    void ensure_consumer(RequestId request, const engine::ConsumerSpec& spec);
    void subscribe(std::uint64_t sid, const std::string& pattern, const std::string& queue);
    /// Joins the deliver group of a durable.
    void bind(std::uint64_t sid, const std::string& stream, const std::string& durable);
    void unsubscribe(std::uint64_t sid);
    void answer(std::shared_ptr<const HandedMessage> handed, DeliveryAnswer answer);

    // What the server has for the client. Nothing happens once the connection is gone.

    void reply(RequestId request, NatsReply reply);
    void send_core(std::uint64_t sid, const MessagePtr& message);
    void send_delivery(std::uint64_t sid, const MessagePtr& message, const DeliveryReceipt& receipt);

    /// Called once per ping interval: how many of them have passed without a word from the client.
    [[nodiscard]] int count_silence();
    /// Leaves every group and hears nothing more. Called by the server as it lets go of the session.
    void end();
    [[nodiscard]] bool ended() const { return ended_; }

    void on_broken() override;

private:
    struct Subscribed {
        std::string pattern;  // of a core subscription, or the stream
        std::string queue;    // of a core subscription, or the durable
        bool durable = false;
    };

    /// Sends `arrival(client)`, which takes `bytes` on the link.
    template <class Arrival>
    void send(std::uint64_t bytes, Arrival arrival);
    /// The client reads this: it, unless it is gone or was hung up on.
    [[nodiscard]] std::shared_ptr<NatsPeer> read_by(std::uint64_t bytes);

    NatsServer& server_;
    const std::uint64_t id_;
    const std::shared_ptr<Connection> connection_;
    const std::shared_ptr<Outgoing> outgoing_;
    const NodeId client_;
    std::weak_ptr<NatsPeer> peer_;
    std::map<std::uint64_t, Subscribed> subscribed_;  // by sid
    bool ended_ = false;
    bool heard_ = true;
    int silence_ = 0;
};

}  // namespace lockstep::fakes
