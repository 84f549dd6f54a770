#include "engine/runs/job_request.h"

#include <fmt/format.h>

#include <utility>

#include "engine/runs/job_names.h"
#include "engine/runtime/invariant.h"
#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/rfc3339.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

std::string text_at(const json& object, std::string_view path) {
    const json& value = at_path(object, path);
    return value.is_string() ? value.get<std::string>() : std::string{};
}

cap::JobPriority priority_of(const RunDocument& run) {
    const std::string name = text_at(run.member("input"), "priority");
    if (name == "critical") return cap::JOB_PRIORITY_CRITICAL;
    if (name == "interactive") return cap::JOB_PRIORITY_INTERACTIVE;
    return cap::JOB_PRIORITY_BATCH;
}

std::string memory_of(const RunDocument& run) {
    constexpr std::string_view kPrefix = "mem:";
    std::string memory = text_at(run.member("input"), "memory_id");
    if (memory.starts_with(kPrefix)) memory.erase(0, kPrefix.size());
    return memory.empty() ? "run:" + run.id() : memory;
}

/// `meta` of the step; what it holds that JobMetadata has not is no concern of the job's.
void fill_metadata(const StepAttempt& attempt, cap::JobMetadata& meta) {
    const json& given = attempt.step.meta;
    meta.set_tenant_id(attempt.run.org());
    meta.set_actor_id(text_at(given, "actor_id"));
    const std::string actor = text_at(given, "actor_type");
    std::string full = "ACTOR_TYPE_";
    for (const char c : actor) full += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    cap::ActorType type{};
    if (cap::ActorType_Parse(actor, &type) || cap::ActorType_Parse(full, &type)) meta.set_actor_type(type);
    meta.set_idempotency_key(text_at(given, "idempotency_key"));
    meta.set_pack_id(text_at(given, "pack_id"));
    meta.set_capability(text_at(given, "capability"));
    for (const json& tag : at_path(given, "risk_tags"))
        if (tag.is_string()) meta.add_risk_tags(tag.get<std::string>());
    for (const json& need : at_path(given, "requires"))
        if (need.is_string()) meta.add_requires_(need.get<std::string>());
    const json& labels = at_path(given, "labels");
    if (labels.is_object())
        for (const auto& [name, value] : labels.items())
            if (value.is_string()) (*meta.mutable_labels())[name] = value.get<std::string>();
}

/// What jobs of workers and gates have in common.
cap::JobRequest request_of(const StepAttempt& attempt) {
    const std::string run = attempt.run.id();
    cap::JobRequest request;
    request.set_job_id(run_job_id(run, attempt.key, attempt.number));
    request.set_priority(priority_of(attempt.run));
    request.set_workflow_id(attempt.workflow.id);
    request.set_memory_id(memory_of(attempt.run));
    request.set_tenant_id(attempt.run.org());
    request.set_principal_id(text_at(attempt.step.meta, "actor_id"));
    fill_metadata(attempt, *request.mutable_meta());

    auto& env = *request.mutable_env();
    env["workflow_id"] = attempt.workflow.id;
    env["run_id"] = run;
    env["step_id"] = attempt.key;
    if (!attempt.run.org().empty()) env["tenant_id"] = attempt.run.org();
    if (!attempt.run.team().empty()) env["team_id"] = attempt.run.team();
    env["memory_id"] = request.memory_id();
    env["context_mode"] = "raw";
    auto& labels = *request.mutable_labels();
    for (const auto& [name, value] : attempt.step.route_labels) labels[name] = value;
    labels["workflow_id"] = attempt.workflow.id;
    labels["run_id"] = run;
    labels["step_id"] = attempt.key;
    if (attempt.run.dry_run()) {
        env["dry_run"] = "true";
        labels["dry_run"] = "true";
    }
    return request;
}

/// For what is put in front of a message on its way.
constexpr std::uint64_t kHeaderBytes = 4'096;

/// Why the job would be dropped, or its end would never be heard.
std::string obstacle_to(const StepAttempt& attempt, const cap::JobRequest& request) {
    if (const auto why = wire::rejection(request)) return *why;
    const auto names = parse_run_job(wire::trim(request.job_id()));
    if (!names || names->run != attempt.run.id() || names->step != attempt.key)
        return fmt::format(
            "job_id is \"{}\", which does not lead back to the step: run ids have no colon, and no white "
            "space at their ends",
            request.job_id());
    return {};
}

tl::expected<Submission, std::string> submission_of(const StepAttempt& attempt, cap::JobRequest request,
                                                    std::string context, std::uint64_t packet_bytes) {
    if (const std::string why = obstacle_to(attempt, request); !why.empty())
        return tl::make_unexpected("its job would be rejected: " + why);
    Submission submission;
    submission.job = request.job_id();
    submission.step = attempt.key;
    if (!context.empty()) request.set_context_ptr("redis://" + context_key(request.job_id()));
    submission.packet =
        wire::serialise(wire::make_packet(std::move(request), attempt.run.id(), kWorkflowSender, attempt.at));
    if (packet_bytes > kHeaderBytes && submission.packet.size() > packet_bytes - kHeaderBytes)
        return tl::make_unexpected(fmt::format("its job would be a message of {} bytes, of at most {}",
                                               submission.packet.size(), packet_bytes - kHeaderBytes));
    submission.context = std::move(context);
    return submission;
}

}  // namespace

namespace {

std::string topic_of(const StepAttempt& attempt) {
    if (attempt.step.type == StepType::approval) return std::string(wire::kTopicApprovalGate);
    return attempt.step.topic.empty() ? "job.workflow." + attempt.workflow.id : attempt.step.topic;
}

/// Nothing where it is gone, or cannot be read.
std::optional<cap::JobRequest> request_in(const RecordedJob& recorded) {
    if (recorded.request.empty()) return std::nullopt;
    auto request = wire::from_json<cap::JobRequest>(recorded.request);
    return request ? std::optional(std::move(*request)) : std::nullopt;
}

bool agree(std::string_view tenant, std::string_view topic, const RecordedJob& recorded,
           const std::optional<cap::JobRequest>& request) {
    if (request)
        return wire::tenant_or_default(tenant) == wire::tenant_of(*request) &&
               wire::trim(topic) == wire::trim(request->topic());
    return (recorded.tenant.empty() || wire::tenant_or_default(tenant) == wire::tenant_or_default(recorded.tenant)) &&
           (recorded.topic.empty() || wire::trim(topic) == wire::trim(recorded.topic));
}

}  // namespace

bool is_same_job(const Submission& submission, const RecordedJob& recorded) {
    auto packet = wire::decode(submission.packet);
    INVARIANT(packet && packet->has_job_request(), "job {} is submitted as something else", submission.job);
    cap::JobRequest& own = *packet->mutable_job_request();
    wire::trim_identity(own);
    const auto request = request_in(recorded);
    return agree(wire::tenant_of(own), own.topic(), recorded, request) &&
           (!request || wire::job_hash(own) == wire::job_hash(*request));
}

bool may_be_job_of(const StepAttempt& attempt, const RecordedJob& recorded) {
    const auto request = request_in(recorded);
    const auto says = [&request](const char* label, std::string_view value) {
        const auto found = request->labels().find(label);
        return found == request->labels().end() || found->second == value;
    };
    return agree(attempt.run.org(), topic_of(attempt), recorded, request) &&
           (!request || (says("run_id", attempt.run.id()) && says("step_id", attempt.key)));
}

std::string context_key(std::string_view job) { return fmt::format("ctx:{}", job); }

tl::expected<Submission, std::string> worker_job(const StepAttempt& attempt, const json& payload,
                                                 std::uint64_t packet_bytes) {
    cap::JobRequest request = request_of(attempt);
    const StepDefinition& step = attempt.step;
    request.set_topic(topic_of(attempt));
    if (!step.worker_id.empty()) {
        request.set_adapter_id(step.worker_id);
        (*request.mutable_labels())["worker_id"] = step.worker_id;
    }
    if (step.timeout_sec > 0) request.mutable_budget()->set_deadline_ms(step.timeout_sec * 1000);
    if (attempt.of) {
        (*request.mutable_env())["foreach_index"] = std::to_string(attempt.of->index);
        (*request.mutable_env())["foreach_item"] = wire::json_text(attempt.of->item);
    } else if (request.meta().idempotency_key().empty()) {
        request.mutable_meta()->set_idempotency_key(
            fmt::format("wf:{}:{}:{}", attempt.run.id(), attempt.key, attempt.number));
    }
    if (!step.compensation.is_null()) {
        if (auto undo = wire::from_json<cap::Compensation>(wire::json_text(step.compensation)))
            *request.mutable_compensation() = std::move(*undo);
    }
    return submission_of(attempt, std::move(request), wire::json_text(payload), packet_bytes);
}

tl::expected<Submission, std::string> gate_job(const StepAttempt& attempt, const json& decision,
                                               std::uint64_t packet_bytes) {
    cap::JobRequest request = request_of(attempt);
    request.set_topic(topic_of(attempt));
    request.set_priority(cap::JOB_PRIORITY_INTERACTIVE);
    (*request.mutable_labels())["gate_type"] = "workflow_approval";
    request.mutable_meta()->set_idempotency_key(
        fmt::format("wf:{}:{}:{}:approval", attempt.run.id(), attempt.key, attempt.number));
    const json context{{"kind", "workflow_approval_context"},
                       {"version", 1},
                       {"workflow",
                        {{"workflow_id", attempt.workflow.id},
                         {"run_id", attempt.run.id()},
                         {"step_id", attempt.key},
                         {"workflow_name", attempt.workflow.name},
                         {"step_name", attempt.step.name},
                         {"requested_at", wire::rfc3339(attempt.at)},
                         {"triggered_by", attempt.run.text("triggered_by")},
                         {"tenant_id", attempt.run.org()},
                         {"team_id", attempt.run.team()}}},
                       {"decision", decision}};
    return submission_of(attempt, std::move(request), wire::json_text(context), packet_bytes);
}

std::string alert_packet(const StepAttempt& attempt, const json& payload) {
    cap::SystemAlert alert;
    const std::string level = text_at(payload, "level");
    const json& message = at_path(payload, "message");
    alert.set_level(level.empty() ? "INFO" : level);
    alert.set_message(message.is_string() ? message.get<std::string>()
                                          : wire::json_text(message.is_null() ? payload : message));
    alert.set_component(kWorkflowSender);
    const std::string code = text_at(payload, "code");
    alert.set_code(code.empty() ? "workflow_notify" : code);
    return wire::serialise(wire::make_packet(std::move(alert), attempt.run.id(), kWorkflowSender, attempt.at));
}

}  // namespace lockstep::engine
