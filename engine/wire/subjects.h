// The names of the bus: subjects, streams, queue groups, durable consumers, and the rules that classify them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runtime/identifiers.h"

namespace lockstep::engine::wire {

inline constexpr std::string_view kSubjectSubmit = "sys.job.submit";
inline constexpr std::string_view kSubjectResult = "sys.job.result";
inline constexpr std::string_view kSubjectDlq = "sys.job.dlq";
inline constexpr std::string_view kSubjectCancel = "sys.job.cancel";
inline constexpr std::string_view kSubjectProgress = "sys.job.progress";
inline constexpr std::string_view kSubjectHeartbeat = "sys.heartbeat";
inline constexpr std::string_view kSubjectHandshake = "sys.handshake";
inline constexpr std::string_view kSubjectConfigChanged = "sys.config.changed";
inline constexpr std::string_view kSubjectWorkflowEvent = "sys.workflow.event";
inline constexpr std::string_view kSubjectAlert = "sys.alert";
inline constexpr std::string_view kSubjectAuditExport = "sys.audit.export";
inline constexpr std::string_view kSubjectAuditOutputPolicy = "sys.audit.output_policy";

/// All of those.
inline constexpr std::array kAllSubjects{kSubjectSubmit,    kSubjectResult,        kSubjectDlq,
                                         kSubjectCancel,    kSubjectProgress,      kSubjectHeartbeat,
                                         kSubjectHandshake, kSubjectConfigChanged, kSubjectWorkflowEvent,
                                         kSubjectAlert,     kSubjectAuditExport,   kSubjectAuditOutputPolicy};

inline constexpr std::string_view kStreamSys = "CORDUM_SYS";    // binds sys.>
inline constexpr std::string_view kStreamJobs = "CORDUM_JOBS";  // binds job.> and worker.*.jobs

inline constexpr std::string_view kQueueScheduler = "cordum-scheduler";
inline constexpr std::string_view kQueueWorkflowEngine = "cordum-workflow-engine";
inline constexpr std::string_view kQueueGateway = "cordum-gateway";

/// Jobs on these topics are gates: they succeed by being approved and no worker ever sees them.
inline constexpr std::string_view kTopicApprovalGate = "job.cordum.approval-gate";
inline constexpr std::string_view kTopicApprovalGateLegacy = "sys.approval.gate";
[[nodiscard]] bool is_approval_gate(std::string_view topic);

/// Whether the subject goes through JetStream. A test of the literal text: a wildcard such as `sys.job.>` is not durable.
[[nodiscard]] bool is_durable(std::string_view subject);

/// The stream that captures messages on this subject, durable or not; nothing when no stream binds it.
[[nodiscard]] std::optional<std::string_view> stream_of(std::string_view subject);

/// `worker.<id>.jobs`, where the worker listens for its jobs. REQUIRES: a worker.
[[nodiscard]] std::string worker_subject(const WorkerId& worker);

/// The id in `worker.<id>.jobs`, within the argument; nothing for other subjects and for an empty id.
[[nodiscard]] std::optional<std::string_view> worker_of(std::string_view subject);

/// Where the server that has come to lead a durable of a cluster says so; a core message.
[[nodiscard]] std::string leader_elected_subject(std::string_view stream, std::string_view durable);

/// The durable consumer of a queue group on a subject. Empty without a queue: such a consumer is ephemeral, every
/// subscriber gets a copy.
[[nodiscard]] std::string durable_name(std::string_view queue, std::string_view subject);

/// Those of a deployment on kStreamSys, whichever role reads them. They carry its id (D-35).
[[nodiscard]] std::vector<std::string> own_durables();

}  // namespace lockstep::engine::wire
