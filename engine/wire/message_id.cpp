#include "engine/wire/message_id.h"

#include <fmt/core.h>

#include "engine/runtime/invariant.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"

namespace lockstep::engine::wire {
namespace {

std::string prefixed(std::string_view prefix, std::string_view id) {
    return id.empty() ? std::string() : fmt::format("{}:{}", prefix, id);
}

std::string request_id(const cap::JobRequest& request, std::string_view subject) {
    const auto label = request.labels().find(std::string(kMessageIdLabel));
    if (label != request.labels().end() && !trim(label->second).empty()) {
        return fmt::format("jobreq:{}:{}", subject, trim(label->second));
    }
    return prefixed("jobreq", trim(request.job_id()));
}

}  // namespace

std::string message_id(const cap::BusPacket& packet, std::string_view subject) {
    switch (packet.payload_case()) {
        case cap::BusPacket::kJobRequest: return request_id(packet.job_request(), subject);
        case cap::BusPacket::kJobResult: return prefixed(subject, trim(packet.job_result().job_id()));
        case cap::BusPacket::kHeartbeat: return prefixed(subject, packet.heartbeat().worker_id());
        case cap::BusPacket::kHandshake: return prefixed("handshake", packet.handshake().component_id());
        case cap::BusPacket::kAlert:
        case cap::BusPacket::kJobProgress:
        case cap::BusPacket::kJobCancel:
        case cap::BusPacket::PAYLOAD_NOT_SET: return {};
    }
    return {};
}

std::string dispatch_message_id(const JobId& job, DispatchNumber dispatch) {
    PRECONDITION(!job.empty(), "dispatch {} is of no job", dispatch);
    return fmt::format("jobreq:{}:{}", trim(job.text()), dispatch);
}

void strip_message_id_label(cap::JobRequest& request) { request.mutable_labels()->erase(std::string(kMessageIdLabel)); }

}  // namespace lockstep::engine::wire
