// What stands around each message that schedulers and workflow engines publish: sender, trace and message id (wire.md 2.2 and 3.4;
// workflow.md 1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::sim::spec {

struct Envelope {
    std::string_view sender;
    std::optional<std::string> trace;       // nothing: the job's own, or any
    std::optional<std::string> message_id;  // nothing: another rule says which
    bool made_before = false;               // it may have stood in Redis for a while
};
/// Nothing: the documents know no such message on this subject.
[[nodiscard]] std::optional<Envelope> envelope_of(std::string_view subject, const cap::BusPacket& packet);

/// What is wrong with the handshake of a scheduler or workflow engine; empty: nothing.
[[nodiscard]] std::string fault_of(const cap::Handshake& handshake);

}  // namespace lockstep::sim::spec
