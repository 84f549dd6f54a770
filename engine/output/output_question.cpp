#include "engine/output/output_question.h"

#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/sha256.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

std::string trimmed(std::string_view text) { return std::string(wire::trim(text)); }

/// The label of that name, else the entry of the environment.
std::string label_or_env(const cap::JobRequest& request, const std::string& name) {
    const auto label = request.labels().find(name);
    if (label != request.labels().end() && !wire::trim(label->second).empty()) return trimmed(label->second);
    const auto entry = request.env().find(name);
    return entry == request.env().end() ? std::string{} : trimmed(entry->second);
}

}  // namespace

cap_output::OutputCheckRequest question_about_output(const cap::JobResult& result, const cap::JobRequest& request) {
    const cap::JobMetadata& meta = request.meta();
    cap_output::OutputCheckRequest question;
    question.set_job_id(trimmed(result.job_id()));
    question.set_topic(trimmed(request.topic()));
    question.set_tenant(trimmed(wire::tenant_of(request)));
    *question.mutable_labels() = request.labels();
    for (const std::string& pointer : result.artifact_ptrs()) question.add_artifact_ptrs(trimmed(pointer));
    question.set_error_message(trimmed(result.error_message()));
    question.set_error_code(trimmed(result.error_code()));
    question.set_worker_id(trimmed(result.worker_id()));
    question.set_execution_ms(result.execution_ms());
    question.set_workflow_id(trimmed(request.workflow_id()));
    question.set_step_id(label_or_env(request, "step_id"));
    if (!wire::trim(meta.capability()).empty()) question.add_capabilities(trimmed(meta.capability()));
    for (const std::string& tool : meta.requires_()) question.add_capabilities(trimmed(tool));
    for (const std::string& tag : meta.risk_tags()) question.add_risk_tags(trimmed(tag));
    question.set_principal_id(trimmed(request.principal_id()));
    question.set_pack_id(trimmed(meta.pack_id()));
    question.set_content_type(label_or_env(request, "content_type"));
    *question.mutable_original_labels() = request.labels().empty() ? meta.labels() : request.labels();
    for (const char* label : wire::kPolicyLabels) {
        question.mutable_labels()->erase(label);
        question.mutable_original_labels()->erase(label);
    }
    return question;
}

void attach_content(cap_output::OutputCheckRequest& question, std::string_view result_ptr, OutputContent content) {
    question.set_result_ptr(trimmed(result_ptr));
    if (content.bytes.empty()) return;
    question.set_output_size_bytes(content.size);
    question.set_content_hash("sha256:" + wire::sha256_hex(content.bytes));
    question.set_output_content(std::move(content.bytes));
}

}  // namespace lockstep::engine
