#include "fakes/nats/message.h"

#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::fakes {

void BusMessage::decode() {
    auto decoded = engine::wire::decode(payload);
    packet = decoded ? std::make_shared<const cap::BusPacket>(std::move(*decoded)) : nullptr;
}

std::string_view BusMessage::job() const {
    if (!packet) return {};
    switch (packet->payload_case()) {
        case cap::BusPacket::kJobRequest: return packet->job_request().job_id();
        case cap::BusPacket::kJobResult: return packet->job_result().job_id();
        case cap::BusPacket::kJobProgress: return packet->job_progress().job_id();
        case cap::BusPacket::kJobCancel: return packet->job_cancel().job_id();
        default: return {};
    }
}

std::shared_ptr<BusMessage> make_message(std::string subject, std::string payload, std::string message_id) {
    auto message = std::make_shared<BusMessage>();
    message->subject = std::move(subject);
    message->payload = std::move(payload);
    message->message_id = std::move(message_id);
    message->decode();
    return message;
}

Event bus_event(EventKind kind, When when, NodeId node, NodeId peer, const BusMessage& message) {
    Event event;
    event.kind = kind;
    event.when = when;
    event.node = node;
    event.peer = peer;
    event.subject = message.subject;
    event.job = message.job();
    event.message_id = message.message_id;
    event.payload = message.payload;
    event.packet = message.packet.get();
    return event;
}

}  // namespace lockstep::fakes
