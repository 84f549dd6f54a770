// Forward declarations of the protocol's messages, so that headers need not include generated code (a second per
// translation unit). Sources include "engine/wire/messages.h".
#pragma once

namespace google::protobuf {
class Message;
class MessageLite;
}  // namespace google::protobuf

namespace cordum::agent::v1 {
class BusPacket;
class Budget;
class Compensation;
class ContextHints;
class Handshake;
class Heartbeat;
class JobCancel;
class JobMetadata;
class JobProgress;
class JobRequest;
class JobResult;
class PolicyCheckRequest;
class PolicyCheckResponse;
class PolicyConstraints;
class SystemAlert;
enum DecisionType : int;
enum ErrorCode : int;
enum JobStatus : int;
}  // namespace cordum::agent::v1

namespace cordum::v1 {
class OutputCheckRequest;
class OutputCheckResponse;
class OutputFinding;
enum OutputDecision : int;
}  // namespace cordum::v1

namespace lockstep {
/// The agent protocol: cap::JobRequest, cap::BusPacket and so on.
namespace cap = ::cordum::agent::v1;
/// The output policy: cap_output::OutputCheckRequest and so on.
namespace cap_output = ::cordum::v1;
}  // namespace lockstep
