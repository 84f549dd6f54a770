#include "engine/saga/compensation.h"

#include <fmt/core.h>

#include <climits>
#include <vector>

#include "engine/runtime/invariant.h"
#include "engine/wire/grant.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/sha256.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

using Map = google::protobuf::Map<std::string, std::string>;

constexpr const char* kFlag = "saga_compensation";
constexpr std::string_view kTopicPrefix = "job.";

std::string trimmed(const Map& map, const char* key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string{} : std::string(wire::trim(found->second));
}

bool flagged(const Map& map) {
    const std::string value = trimmed(map, kFlag);
    return !value.empty() && wire::ascii_lower(value) != "false";
}

void merge(const Map& from, Map& into) {
    for (const auto& [key, value] : from) into[key] = value;
}

void replace(const std::string& by, std::string* what) {
    if (!by.empty()) *what = by;
}

void merge_meta(const cap::JobMetadata& from, cap::JobMetadata& into) {
    replace(from.actor_id(), into.mutable_actor_id());
    if (from.actor_type() != cap::ACTOR_TYPE_UNSPECIFIED) into.set_actor_type(from.actor_type());
    replace(from.capability(), into.mutable_capability());
    replace(from.pack_id(), into.mutable_pack_id());
    if (from.risk_tags_size() > 0) *into.mutable_risk_tags() = from.risk_tags();
    if (from.requires__size() > 0) *into.mutable_requires_() = from.requires_();
    merge(from.labels(), *into.mutable_labels());
}

/// The original's own key must not come along: it names the original's effect, not the undoing of it.
std::string idempotency_key(const cap::JobRequest& original, const std::string& workflow, const std::string& topic,
                            const std::string& capability) {
    const std::string& given = original.compensation().meta().idempotency_key();
    if (!given.empty()) return given;
    const std::string step = original.step_index() == 0 ? std::string{} : fmt::format("{}", original.step_index());
    const std::string values = fmt::format("{}|{}|{}|{}|{}", workflow, original.job_id(), topic, capability, step);
    const std::size_t first = values.find_first_not_of('|');
    const std::size_t last = values.find_last_not_of('|');
    const std::string bare = first == std::string::npos ? std::string{} : values.substr(first, last - first + 1);
    return "saga:" + wire::sha256_hex(bare).substr(0, 32);
}

void drop_bus_and_approval_labels(cap::JobRequest& job) {
    wire::strip_message_id_label(job);
    std::vector<std::string> of_approval;
    for (const auto& [label, value] : job.labels()) {
        if (wire::ascii_lower(label).starts_with("approval_")) of_approval.push_back(label);
    }
    for (const std::string& label : of_approval) job.mutable_labels()->erase(label);
}

/// Its job's tenant, wherever one is named.
void set_tenant(cap::JobRequest& job, const std::string& tenant) {
    job.set_tenant_id(tenant);
    if (const auto in_env = job.mutable_env()->find("tenant_id"); in_env != job.mutable_env()->end())
        in_env->second = tenant;
    if (!job.meta().tenant_id().empty()) job.mutable_meta()->set_tenant_id(tenant);
}

void mark(Map& map, const std::string& workflow) {
    map[kFlag] = "true";
    map["is_compensation"] = "true";
    map["saga_workflow_id"] = workflow;
}

}  // namespace

std::string workflow_of(const cap::JobRequest& request) {
    const std::string_view named = wire::trim(request.workflow_id());
    return named.empty() ? trimmed(request.labels(), "workflow_id") : std::string(named);
}

std::optional<SagaName> saga_of(const cap::JobRequest& request) {
    std::string workflow = workflow_of(request);
    if (workflow.empty()) return std::nullopt;
    std::string run = trimmed(request.labels(), "run_id");
    std::string tenant(wire::tenant_of(request));
    if (run.empty()) return SagaName{SagaName::Kind::workflow, std::move(tenant), std::move(workflow)};
    return SagaName{SagaName::Kind::run, std::move(tenant), std::move(run)};
}

bool is_compensation(const cap::JobRequest& request) { return flagged(request.labels()) || flagged(request.env()); }

tl::expected<cap::JobRequest, std::string> compensation_template(const cap::JobRequest& request) {
    PRECONDITION(request.has_compensation(), "job {} has no compensation", request.job_id());
    const cap::Compensation& undo = request.compensation();
    const std::string topic(wire::trim(undo.topic()));
    if (topic.empty()) return tl::make_unexpected(std::string("its compensation names no topic"));
    const std::string workflow = workflow_of(request);

    cap::JobRequest job = request;
    job.clear_compensation();
    job.clear_job_id();
    job.set_parent_job_id(request.job_id());
    job.set_workflow_id(workflow);
    job.set_topic(topic);
    job.set_priority(cap::JOB_PRIORITY_CRITICAL);
    replace(undo.context_ptr(), job.mutable_context_ptr());
    replace(undo.adapter_id(), job.mutable_adapter_id());
    replace(undo.memory_id(), job.mutable_memory_id());
    replace(undo.principal_id(), job.mutable_principal_id());
    if (undo.has_context_hints()) *job.mutable_context_hints() = undo.context_hints();
    if (undo.has_budget()) *job.mutable_budget() = undo.budget();
    drop_bus_and_approval_labels(job);
    merge(undo.env(), *job.mutable_env());
    merge(undo.labels(), *job.mutable_labels());
    merge_meta(undo.meta(), *job.mutable_meta());
    job.mutable_meta()->set_idempotency_key(idempotency_key(request, workflow, topic, job.meta().capability()));
    set_tenant(job, std::string(wire::tenant_of(request)));
    wire::strip_policy_marks(job);
    INVARIANT(job.job_id().empty(), "the template of job {} names job {}", request.job_id(), job.job_id());
    INVARIANT(wire::tenant_of(job) == wire::tenant_of(request), "what undoes a job of {} is {}'s",
              wire::tenant_of(request), wire::tenant_of(job));
    return job;
}

std::optional<cap::JobRequest> compensation_job(const SagaName& saga, std::string_view entry) {
    cap::JobRequest job;
    const bool fits = entry.size() <= static_cast<std::size_t>(INT_MAX);
    if (!fits || !job.ParseFromArray(entry.data(), static_cast<int>(entry.size()))) return std::nullopt;
    const std::string topic(wire::trim(job.topic()));
    if (topic.empty()) return std::nullopt;
    job.set_topic(topic.starts_with(kTopicPrefix) ? topic : fmt::format("{}{}", kTopicPrefix, topic));
    job.set_job_id("comp-" + compensation_uuid(saga, entry));
    job.set_priority(cap::JOB_PRIORITY_CRITICAL);
    drop_bus_and_approval_labels(job);
    wire::strip_policy_marks(job);
    const std::string workflow = workflow_of(job).empty() ? saga.id : workflow_of(job);
    mark(*job.mutable_labels(), workflow);
    mark(*job.mutable_env(), workflow);
    INVARIANT(!wire::carries_grant(job), "job {} of saga {} says that a human has approved it", job.job_id(),
              saga.text());
    INVARIANT(is_compensation(job), "job {} of saga {} would be recorded itself", job.job_id(), saga.text());
    return job;
}

std::string compensation_uuid(const SagaName& saga, std::string_view entry) {
    std::string hex = wire::sha256_hex(fmt::format("{}\n{}", saga.seed(), entry)).substr(0, 32);
    hex[12] = '8';
    constexpr std::string_view kVariant = "89ab";
    hex[16] = kVariant[static_cast<unsigned char>(hex[16]) % kVariant.size()];
    return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4),
                       hex.substr(20));
}

}  // namespace lockstep::engine
