#include "engine/wire/packet.h"

#include <fmt/core.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <chrono>
#include <climits>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/wire/messages.h"

namespace lockstep::engine::wire {
namespace {

cap::BusPacket envelope(std::string trace_id, std::string sender_id, WallTime created_at) {
    const Duration since_epoch = created_at.time_since_epoch();
    // Floor, so that nanos stay non-negative before 1970, as the Timestamp contract asks.
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
    cap::BusPacket packet;
    packet.set_trace_id(std::move(trace_id));
    packet.set_sender_id(std::move(sender_id));
    packet.mutable_created_at()->set_seconds(seconds.count());
    packet.mutable_created_at()->set_nanos(static_cast<std::int32_t>((since_epoch - seconds).count()));
    packet.set_protocol_version(kProtocolVersion);
    return packet;
}

}  // namespace

tl::expected<cap::BusPacket, DecodeError> decode(std::string_view bytes) {
    cap::BusPacket packet;
    const bool fits = bytes.size() <= static_cast<std::size_t>(INT_MAX);
    if (!fits || !packet.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return tl::unexpected(DecodeError{fmt::format("{} bytes are not a BusPacket", bytes.size())});
    }
    return packet;
}

std::string serialise(const google::protobuf::MessageLite& message) {
    std::string bytes;
    bytes.reserve(message.ByteSizeLong());
    bool ok = false;
    {
        google::protobuf::io::StringOutputStream stream(&bytes);
        google::protobuf::io::CodedOutputStream coded(&stream);
        coded.SetSerializationDeterministic(true);
        ok = message.SerializePartialToCodedStream(&coded);
    }  // the streams hand over their last bytes here
    INVARIANT(ok, "a {} did not serialise", message.GetTypeName());
    return bytes;
}

cap::BusPacket make_packet(cap::JobRequest payload, std::string trace_id, std::string sender_id, WallTime created_at) {
    auto packet = envelope(std::move(trace_id), std::move(sender_id), created_at);
    *packet.mutable_job_request() = std::move(payload);
    return packet;
}

cap::BusPacket make_packet(cap::JobResult payload, std::string trace_id, std::string sender_id, WallTime created_at) {
    auto packet = envelope(std::move(trace_id), std::move(sender_id), created_at);
    *packet.mutable_job_result() = std::move(payload);
    return packet;
}

cap::BusPacket make_packet(cap::JobProgress payload, std::string trace_id, std::string sender_id, WallTime created_at) {
    auto packet = envelope(std::move(trace_id), std::move(sender_id), created_at);
    *packet.mutable_job_progress() = std::move(payload);
    return packet;
}

cap::BusPacket make_packet(cap::JobCancel payload, std::string trace_id, std::string sender_id, WallTime created_at) {
    auto packet = envelope(std::move(trace_id), std::move(sender_id), created_at);
    *packet.mutable_job_cancel() = std::move(payload);
    return packet;
}

cap::BusPacket make_packet(cap::Heartbeat payload, std::string trace_id, std::string sender_id, WallTime created_at) {
    auto packet = envelope(std::move(trace_id), std::move(sender_id), created_at);
    *packet.mutable_heartbeat() = std::move(payload);
    return packet;
}

cap::BusPacket make_packet(cap::Handshake payload, std::string trace_id, std::string sender_id, WallTime created_at) {
    auto packet = envelope(std::move(trace_id), std::move(sender_id), created_at);
    *packet.mutable_handshake() = std::move(payload);
    return packet;
}

cap::BusPacket make_packet(cap::SystemAlert payload, std::string trace_id, std::string sender_id, WallTime created_at) {
    auto packet = envelope(std::move(trace_id), std::move(sender_id), created_at);
    *packet.mutable_alert() = std::move(payload);
    return packet;
}

}  // namespace lockstep::engine::wire
