// A message of the simulated bus: made once by its publisher, then shared unchanged by the stream, every subscriber and
// every event, so that neither its bytes nor its decoded packet are copied on the way.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"
#include "fakes/event.h"

namespace lockstep::fakes {

struct BusMessage {
    std::string subject;
    std::string payload;
    std::string message_id;                        // empty: none
    std::shared_ptr<const cap::BusPacket> packet;  // null: the payload is no packet

    /// Sets `packet` from `payload`.
    void decode();
    /// The job that the packet is about; empty for none.
    [[nodiscard]] std::string_view job() const;
};

using MessagePtr = std::shared_ptr<const BusMessage>;

/// A decoded message, for as long as its maker may still change it.
[[nodiscard]] std::shared_ptr<BusMessage> make_message(std::string subject, std::string payload,
                                                       std::string message_id = {});

/// An event about `message`: subject, job, message id, payload and packet are set; they point into the message.
[[nodiscard]] Event bus_event(EventKind kind, When when, NodeId node, NodeId peer, const BusMessage& message);

}  // namespace lockstep::fakes
