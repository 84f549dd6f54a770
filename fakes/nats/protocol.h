// What travels between the simulated NATS server and its clients, as plain data, and the two ends of a connection.
// Both ends are called on their own node only, from the arrival actions of the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/ports/bus.h"
#include "fakes/nats/consumer_model.h"
#include "fakes/nats/message.h"

namespace lockstep::fakes {

/// The client's number of a request, to which the answer refers.
using RequestId = std::uint64_t;

/// The answer to a request; which fields count depends on the request.
struct NatsReply {
    std::string error;           // not empty: the server refused
    std::string stream;          // publish
    std::uint64_t sequence = 0;  // publish: of the message; read: of the message found
    bool duplicate = false;      // publish
    MessagePtr message;          // read: null when there is none
    engine::WallTime stored_at{};
    engine::StreamState state{};
    std::optional<engine::ConsumerState> consumer;
};

/// One message in the hands of one client, and the consumer it came from. Shared by the delivery and its answers.
struct HandedMessage {
    std::shared_ptr<const engine::ConsumerSpec> consumer;
    MessagePtr message;
    DeliveryReceipt receipt;
};

/// What a server asks for: `consumer` deliveries and `core` messages come under the client's own number of the
/// subscription.
class NatsPeer {
public:
    virtual ~NatsPeer() = default;
    /// `server` names the server's process, another one after every start; `max_payload` bounds a message, in bytes.
    virtual void on_welcome(std::weak_ptr<class NatsSession> session, std::string server,
                            std::uint64_t max_payload) = 0;
    virtual void on_pong() = 0;
    virtual void on_reply(RequestId request, NatsReply reply) = 0;
    virtual void on_core(std::uint64_t sid, const MessagePtr& message) = 0;
    virtual void on_delivery(std::uint64_t sid, const MessagePtr& message, const DeliveryReceipt& receipt) = 0;
};

}  // namespace lockstep::fakes
