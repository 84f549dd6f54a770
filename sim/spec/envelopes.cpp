#include "sim/spec/envelopes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim::spec {

namespace {

namespace wire = engine::wire;

constexpr std::string_view kScheduler = "cordum-scheduler";

Envelope submission(const cap::JobRequest& request) {
    const auto label = request.labels().find("cordum.bus_msg_id");
    const std::string id = label == request.labels().end() || label->second.empty()
                               ? fmt::format("jobreq:{}", request.job_id())
                               : fmt::format("jobreq:{}:{}", wire::kSubjectSubmit, label->second);
    if (request.labels().contains("saga_compensation"))
        return {.sender = kSagaSender, .trace = request.job_id(), .message_id = id};
    const auto run = request.labels().find("run_id");
    return {.sender = kWorkflowEngine,
            .trace = run == request.labels().end() ? std::nullopt : std::optional(run->second),
            .message_id = id,
            .made_before = true};
}

Envelope letter(const cap::JobResult& result) {
    if (result.job_id().empty()) return {.sender = kSagaSender, .trace = {}, .message_id = ""};
    if (result.job_id().starts_with("undecodable:"))
        return {.sender = kScheduler, .trace = result.job_id(), .message_id = {}};
    const std::string id = result.error_code() == "quarantine_failed"
                               ? fmt::format("{}:{}:{}", wire::kSubjectDlq, result.error_code(), result.job_id())
                               : fmt::format("{}:{}", wire::kSubjectDlq, result.job_id());
    return {.sender = kScheduler, .trace = result.job_id(), .message_id = id};
}

}  // namespace

std::optional<Envelope> envelope_of(std::string_view subject, const cap::BusPacket& packet) {
    if (packet.has_job_request() && subject == wire::kSubjectSubmit) return submission(packet.job_request());
    if (packet.has_job_request() && (is_worker_subject(subject) || subject.starts_with("job.")))
        return Envelope{
            .sender = kScheduler, .trace = {}, .message_id = {}, .made_before = true};  // sent again as it was
    if (packet.has_job_result() && subject == wire::kSubjectDlq) return letter(packet.job_result());
    if (packet.has_job_result() && subject == wire::kSubjectResult)
        return Envelope{.sender = kScheduler,
                        .trace = {},
                        .message_id = fmt::format("{}:{}", subject, packet.job_result().job_id())};
    if (packet.has_job_cancel() && subject == wire::kSubjectCancel) {
        const bool of_run = packet.job_cancel().requested_by() == kWorkflowEngine;
        return Envelope{.sender = of_run ? kWorkflowEngine : kScheduler,
                        .trace = packet.job_cancel().job_id(),
                        .message_id = "",
                        .made_before = of_run};
    }
    if (packet.has_job_progress() && subject == wire::kSubjectAuditOutputPolicy)
        return Envelope{.sender = kScheduler, .trace = packet.job_progress().job_id(), .message_id = ""};
    if (packet.has_alert() && subject == wire::kSubjectWorkflowEvent)
        return Envelope{.sender = kWorkflowEngine, .trace = {}, .message_id = "", .made_before = true};
    if (packet.has_handshake() && subject == wire::kSubjectHandshake) {
        const bool of_runs = packet.handshake().component_id() == kWorkflowEngine;
        return Envelope{.sender = of_runs ? kWorkflowEngine : "scheduler", .trace = {}, .message_id = ""};
    }
    return std::nullopt;
}

std::string fault_of(const cap::Handshake& handshake) {
    const bool of_runs = handshake.component_id() == kWorkflowEngine;
    if (!of_runs && handshake.component_id() != "scheduler")
        return fmt::format("the component is {}", handshake.component_id());
    const auto role = of_runs ? cap::COMPONENT_ROLE_ORCHESTRATOR : cap::COMPONENT_ROLE_SCHEDULER;
    if (handshake.role() != role) return fmt::format("the role is {}", static_cast<int>(handshake.role()));
    if (handshake.supported_versions_size() != 1 || handshake.supported_versions(0) != 1)
        return "the versions are not just 1";
    using Names = std::array<std::string_view, 3>;
    const Names names =
        of_runs ? Names{"workflows", "approvals", "approvals"} : Names{"safety_check", "routing", "compensation"};
    for (const std::string_view name : names) {
        const auto found = handshake.capabilities().find(std::string(name));
        if (found == handshake.capabilities().end() || !found->second)
            return fmt::format("it lacks the capability {}", name);
    }
    const std::size_t expected = of_runs ? 2 : names.size();
    if (handshake.capabilities_size() != static_cast<int>(expected)) return "it has further capabilities";
    return handshake.sdk_version().empty() ? "it names no version" : "";
}

}  // namespace lockstep::sim::spec
