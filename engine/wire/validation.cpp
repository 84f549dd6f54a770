#include "engine/wire/validation.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/runtime/span.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"

namespace lockstep::engine::wire {
namespace {

std::string_view tenant_in_env(const cap::JobRequest& request) {
    const auto entry = request.env().find("tenant_id");
    return entry == request.env().end() ? std::string_view() : trim(entry->second);
}

std::optional<std::string> budget_rejection(const cap::Budget& budget) {
    struct Limit {
        std::string_view name;
        std::int64_t value;
    };
    for (const auto& [name, value] :
         {Limit{"max_input_tokens", budget.max_input_tokens()}, Limit{"max_output_tokens", budget.max_output_tokens()},
          Limit{"max_total_tokens", budget.max_total_tokens()}}) {
        if (value < 0) return fmt::format("budget.{} is negative: {}", name, value);
        if (value > kTokensMax) return fmt::format("budget.{} exceeds {}: {}", name, kTokensMax, value);
    }
    if (budget.deadline_ms() < 0) return fmt::format("budget.deadline_ms is negative: {}", budget.deadline_ms());
    return std::nullopt;
}

std::optional<std::string> size_rejection(std::string_view name, int size) {
    if (size > kEntriesMax) return fmt::format("{} has {} entries, at most {} are allowed", name, size, kEntriesMax);
    return std::nullopt;
}

std::optional<std::string> length_rejection(std::string_view name, std::string_view text, std::size_t most) {
    if (text.size() > most) return fmt::format("{} has {} bytes, at most {} are allowed", name, text.size(), most);
    return std::nullopt;
}

std::optional<std::string> identifier_rejection(const cap::JobRequest& request) {
    for (const auto& [name, text] : {std::pair<std::string_view, std::string_view>{"job_id", request.job_id()},
                                     {"topic", request.topic()},
                                     {"tenant_id", tenant_of(request)}})
        if (auto reason = length_rejection(name, text, kIdentifierMax)) return reason;
    // The least of the reasons: the order of the entries is not the same everywhere.
    std::optional<std::string> least;
    for (const auto& [name, value] : request.labels()) {
        auto reason = length_rejection("the name of a label", name, kIdentifierMax);
        if (!reason) reason = length_rejection(fmt::format("label {}", name), value, kLabelMax);
        if (reason && (!least || *reason < *least)) least = std::move(reason);
    }
    return least;
}

}  // namespace

std::optional<std::string> rejection(const cap::JobRequest& request) {
    auto reason = malformation(request);
    return reason ? reason : tenant_conflict(request);
}

std::optional<std::string> malformation(const cap::JobRequest& request) {
    if (request.job_id().empty()) return "job_id is empty";
    if (request.topic().empty()) return "topic is empty";
    if (!cap::JobPriority_IsValid(request.priority())) {
        return fmt::format("priority is unknown: {}", static_cast<int>(request.priority()));
    }
    if (request.step_index() < 0) return fmt::format("step_index is negative: {}", request.step_index());
    if (auto reason = budget_rejection(request.budget())) return reason;
    if (auto reason = size_rejection("meta.risk_tags", request.meta().risk_tags_size())) return reason;
    if (auto reason = size_rejection("meta.requires", request.meta().requires__size())) return reason;
    if (auto reason = size_rejection("labels", request.labels_size())) return reason;
    return identifier_rejection(request);
}

std::optional<std::string> tenant_conflict(const cap::JobRequest& request) {
    const std::string_view tenant = tenant_of(request);
    const std::string_view env = tenant_in_env(request);
    if (!env.empty() && env != tenant) return fmt::format("tenant_id says {} and the environment says {}", tenant, env);
    const std::string_view meta = trim(request.meta().tenant_id());
    if (!meta.empty() && meta != tenant) return fmt::format("its tenant is {} and its metadata says {}", tenant, meta);
    return std::nullopt;
}

std::optional<std::string> rejection(const cap::JobResult& result) {
    if (result.job_id().empty()) return "job_id is empty";
    if (result.status() == cap::JOB_STATUS_UNSPECIFIED) return "status is unspecified";
    if (result.worker_id().empty()) return "worker_id is empty";
    if (result.execution_ms() < 0) return fmt::format("execution_ms is negative: {}", result.execution_ms());
    return std::nullopt;
}

std::string_view tenant_of(const cap::JobRequest& request) {
    if (const auto field = trim(request.tenant_id()); !field.empty()) return field;
    if (const auto env = tenant_in_env(request); !env.empty()) return env;
    return kDefaultTenant;
}

std::string_view tenant_or_default(std::string_view tenant) {
    tenant = trim(tenant);
    return tenant.empty() ? kDefaultTenant : tenant;
}

Duration deadline_of(const cap::JobRequest& request) {
    return bounded(std::chrono::milliseconds(std::max<std::int64_t>(request.budget().deadline_ms(), 0)));
}

void trim_identity(cap::JobRequest& request) {
    request.set_job_id(std::string(trim(request.job_id())));
    request.set_topic(std::string(trim(request.topic())));
}

}  // namespace lockstep::engine::wire
