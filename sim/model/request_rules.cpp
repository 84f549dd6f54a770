#include "sim/model/request_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/text.h"
#include "sim/model/job.h"
#include "sim/model/request_facts.h"

namespace lockstep::sim {

namespace wire = engine::wire;

namespace {

constexpr int kMostEntries = 1000;
constexpr std::int64_t kMostTokens = 10'000'000'000;
constexpr int kHighestPriority = 3;
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kLongestLabel = 16'384;

template <class Map, class Names>
void take_off(Map& map, const Names& names) {
    for (const char* name : names) map.erase(name);
}

/// Of a request, or of the compensation in it.
template <class Message>
void take_off_marks(Message& message) {
    take_off(*message.mutable_labels(), wire::kPolicyLabels);
    take_off(*message.mutable_env(), wire::kPolicyVariables);
    if (message.has_meta()) take_off(*message.mutable_meta()->mutable_labels(), wire::kPolicyLabels);
}

}  // namespace

std::string_view flaw_of(const cap::JobRequest& request) {
    const cap::Budget& budget = request.budget();
    const auto out_of_range = [](std::int64_t tokens) { return tokens < 0 || tokens > kMostTokens; };
    if (wire::trim(request.job_id()).empty()) return "it has no job id";
    if (request.topic().empty()) return "it has no topic";
    if (request.priority() < 0 || request.priority() > kHighestPriority) return "its priority is unknown";
    if (request.step_index() < 0) return "its step index is negative";
    if (out_of_range(budget.max_input_tokens()) || out_of_range(budget.max_output_tokens()) ||
        out_of_range(budget.max_total_tokens()))
        return "its budget of tokens is out of range";
    if (budget.deadline_ms() < 0) return "its deadline is negative";
    if (request.meta().risk_tags_size() > kMostEntries || request.meta().requires__size() > kMostEntries ||
        request.labels_size() > kMostEntries)
        return "it has more than 1000 entries";
    if (std::max({request.job_id().size(), request.topic().size(), tenant_named_by(request).size()}) > kLongestName)
        return "one of its identifiers is too long";
    for (const auto& [name, value] : request.labels())
        if (name.size() > kLongestName || value.size() > kLongestLabel) return "one of its labels is too long";
    if (!tenant_conflict_in(request).empty()) return "it names two tenants";
    return {};
}

bool is_borderline(const cap::JobRequest& request) {
    return request.priority() != 0 || request.step_index() != 0 || request.has_budget() || request.labels_size() > 0 ||
           request.meta().risk_tags_size() > 0 || request.meta().requires__size() > 0 ||
           !tenant_in_environment(request).empty() || !request.meta().tenant_id().empty() ||
           wire::trim(request.job_id()) != request.job_id() || wire::trim(request.topic()) != request.topic();
}

std::string tenant_conflict_in(const cap::JobRequest& request) {
    const std::string tenant = tenant_named_by(request);
    const std::string_view environment = tenant_in_environment(request);
    if (!environment.empty() && environment != tenant)
        return fmt::format("its tenant is {} and its environment says {}", tenant, environment);
    const std::string_view metadata = wire::trim(request.meta().tenant_id());
    if (!metadata.empty() && metadata != tenant)
        return fmt::format("its tenant is {} and its metadata says {}", tenant, metadata);
    return {};
}

std::size_t digest_of_work(cap::JobRequest request) {
    erase_labels(*request.mutable_labels(), is_added_on_the_way);
    take_off_marks(request);
    if (request.has_compensation()) take_off_marks(*request.mutable_compensation());
    request.mutable_budget()->clear_deadline_ms();  // a limit of policy may be tighter (limits_in_force)
    request.set_job_id(std::string(wire::trim(request.job_id())));
    request.set_topic(std::string(wire::trim(request.topic())));
    return std::hash<std::string>{}(wire::serialise(request));
}

bool is_as_stored(const Job& job, cap::JobRequest request) {
    const auto& contents = job.request.contents;
    if (contents.empty() || job.request_damaged) return true;
    request.DiscardUnknownFields();
    return std::ranges::count(contents, digest_of_work(std::move(request))) > 0;
}

}  // namespace lockstep::sim
