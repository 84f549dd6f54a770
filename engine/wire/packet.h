// The envelope of the bus: bytes to BusPacket and back, and new packets in this process's name.
//
//   1. What was decoded encodes again with everything it held: fields of later protocol versions included.
//   2. Equal messages encode to equal bytes, in every process. Protobuf's own map order is random per process.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// The version that this implementation speaks and writes into every packet.
inline constexpr int kProtocolVersion = 1;

/// The sender of packets that the scheduler publishes.
inline constexpr const char* kSchedulerSender = "cordum-scheduler";

struct DecodeError {
    std::string detail;  // for logs
};

/// Fails only on bytes that are no BusPacket. A packet without a payload, or with one of a later protocol version, is
/// sound: payload_case() is then PAYLOAD_NOT_SET.
[[nodiscard]] tl::expected<cap::BusPacket, DecodeError> decode(std::string_view bytes);

/// Deterministic: fields in ascending number, map entries sorted by key bytes.
[[nodiscard]] std::string serialise(const google::protobuf::MessageLite& message);

[[nodiscard]] cap::BusPacket make_packet(cap::JobRequest payload, std::string trace_id, std::string sender_id,
                                         WallTime created_at);
[[nodiscard]] cap::BusPacket make_packet(cap::JobResult payload, std::string trace_id, std::string sender_id,
                                         WallTime created_at);
[[nodiscard]] cap::BusPacket make_packet(cap::JobProgress payload, std::string trace_id, std::string sender_id,
                                         WallTime created_at);
[[nodiscard]] cap::BusPacket make_packet(cap::JobCancel payload, std::string trace_id, std::string sender_id,
                                         WallTime created_at);
[[nodiscard]] cap::BusPacket make_packet(cap::Heartbeat payload, std::string trace_id, std::string sender_id,
                                         WallTime created_at);
[[nodiscard]] cap::BusPacket make_packet(cap::Handshake payload, std::string trace_id, std::string sender_id,
                                         WallTime created_at);
[[nodiscard]] cap::BusPacket make_packet(cap::SystemAlert payload, std::string trace_id, std::string sender_id,
                                         WallTime created_at);

}  // namespace lockstep::engine::wire
