#include "sim/oracles/valid_requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/pointer.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using fakes::EventKind;
using fakes::When;

constexpr int kMostEntries = 1000;
constexpr std::int64_t kMostTokens = 10'000'000'000;
constexpr int kHighestPriority = 3;
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kLongestLabel = 16'384;
constexpr std::size_t kContentsMax = 4;  // of one job

std::string_view in_environment(const cap::JobRequest& request) {
    const auto found = request.env().find("tenant_id");
    return found == request.env().end() ? std::string_view() : wire::trim(found->second);
}

std::string_view tenant_named_in(const cap::JobRequest& request) {
    const std::string_view field = wire::trim(request.tenant_id());
    const std::string_view environment = in_environment(request);
    return !field.empty() ? field : !environment.empty() ? environment : "default";
}

bool names_two_tenants(const cap::JobRequest& request) {
    const std::string_view environment = in_environment(request);
    const std::string_view metadata = wire::trim(request.meta().tenant_id());
    const std::string_view tenant = tenant_named_in(request);
    return (!environment.empty() && environment != tenant) || (!metadata.empty() && metadata != tenant);
}

/// Why it is to be dropped; empty: it is not.
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
    if (std::max({request.job_id().size(), request.topic().size(), tenant_named_in(request).size()}) > kLongestName)
        return "one of its identifiers is too long";
    for (const auto& [name, value] : request.labels())
        if (name.size() > kLongestName || value.size() > kLongestLabel) return "one of its labels is too long";
    return {};
}

/// Whether it says anything that the rules are about, beyond what every request must say.
bool is_borderline(const cap::JobRequest& request) {
    return request.priority() != 0 || request.step_index() != 0 || request.has_budget() || request.labels_size() > 0 ||
           request.meta().risk_tags_size() > 0 || request.meta().requires__size() > 0 ||
           !in_environment(request).empty() || !request.meta().tenant_id().empty() ||
           wire::trim(request.job_id()) != request.job_id() || wire::trim(request.topic()) != request.topic();
}

bool belongs_to_an_approval(std::string_view label) {
    constexpr std::string_view kPrefix = "approval_";
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(label.substr(0, kPrefix.size()), kPrefix, {}, lower);
}

template <class Map, class Names>
void take_off(Map& map, const Names& names) {
    for (const char* name : names) map.erase(name);
}

/// Without what policy, an approval and the bus write into it. What undoes the job is not sent along to be run.
std::string content_of(cap::JobRequest request) {
    request.DiscardUnknownFields();
    request.clear_compensation();
    auto& labels = *request.mutable_labels();
    std::vector<std::string> marks{std::string(wire::kMessageIdLabel)};
    for (const auto& [label, value] : labels)
        if (belongs_to_an_approval(label)) marks.push_back(label);
    for (const std::string& label : marks) labels.erase(label);
    take_off(labels, wire::kPolicyLabels);
    take_off(*request.mutable_env(), wire::kPolicyVariables);
    if (request.has_meta()) take_off(*request.mutable_meta()->mutable_labels(), wire::kPolicyLabels);
    // A limit of policy's may be tighter (limits_in_force).
    request.mutable_budget()->clear_deadline_ms();
    request.set_job_id(std::string(wire::trim(request.job_id())));
    request.set_topic(std::string(wire::trim(request.topic())));
    return wire::serialise(request);
}

}  // namespace

void ValidRequests::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case EventKind::deliver:
            if (event.name == kSchedulersSubmissions) on_delivery(event);
            break;
        case EventKind::ack:
            if (event.name == kSchedulersSubmissions && event.when == When::before) on_ack(event);
            break;
        case EventKind::redis:
            if (event.when == When::applied && !event.job.empty() && is_scheduler(event.node))
                jobs_[std::string(event.job)].looked_at = present();
            break;
        case EventKind::publish:
            if (event.when == When::before && is_worker_subject(event.subject) && is_scheduler(event.node))
                must_be_sound(event.node, event.job, fmt::format("it is published on {}", event.subject));
            if (event.when == When::before && is_worker_subject(event.subject) && is_scheduler(event.node))
                must_be_stored(event);
            break;
        case EventKind::node_down:
            std::erase_if(in_hand_, [&event](const auto& entry) { return entry.first.first == event.node; });
            break;
        default: break;
    }
}

void ValidRequests::on_delivery(const fakes::Event& event) {
    const EventNumber first = first_delivered_.try_emplace(receipt_of(event).second, present()).first->second;
    const bool is_request = event.packet != nullptr && event.packet->has_job_request();
    if (!is_request || event.subject != wire::kSubjectSubmit) {
        in_hand_.erase(receipt_of(event));
        return;
    }
    const cap::JobRequest& request = event.packet->job_request();
    const std::string id(wire::trim(request.job_id()));
    std::string_view flaw = flaw_of(request);
    if (flaw.empty() && names_two_tenants(request)) flaw = "it names two tenants";
    in_hand_.insert_or_assign(receipt_of(event), Delivered{id, flaw.empty(), is_borderline(request)});
    if (id.empty()) return;
    Job& job = jobs_[id];
    if (flaw.empty()) {
        job.sound = true;
        return;
    }
    exercise();
    job.rejected = first;
    job.why = flaw;
}

void ValidRequests::on_ack(const fakes::Event& event) {
    const auto delivered = in_hand_.find(receipt_of(event));
    if (delivered == in_hand_.end()) return;
    const Delivered was = delivered->second;
    in_hand_.erase(delivered);
    if (!was.sound) return;
    if (was.borderline) exercise();
    const EventNumber first = first_delivered_.at(receipt_of(event).second);
    if (jobs_[was.job].looked_at < first)
        violated(event.node, was.job,
                 "its submission is valid, and is taken off the stream though nobody has looked at the job", first);
}

void ValidRequests::must_be_sound(fakes::NodeId node, std::string_view name, std::string_view what) {
    const auto job = jobs_.find(name);
    // What nobody was delivered and nobody stored is for no_duplicate_dispatch and policy_before_dispatch.
    if (job == jobs_.end() || job->second.sound || job->second.rejected == 0) return;
    violated(node, name, fmt::format("{}, and its only submission is to be dropped: {}", what, job->second.why),
             job->second.rejected);
}

void ValidRequests::must_be_stored(const fakes::Event& event) {
    const auto job = jobs_.find(event.job);
    // Whose input it is is asked once it is stored, like everything that policy is not asked about either.
    if (job != jobs_.end() && points_beyond(event.job, job->second, true))
        violated(event.node, event.job,
                 fmt::format("its worker is sent it, and its input would be {}", job->second.points_to),
                 job->second.stored);
    if (job == jobs_.end() || job->second.contents.empty() || event.packet == nullptr) return;
    if (!event.packet->has_job_request()) return;
    if (job->second.contents.size() > 1) exercise();
    if (std::ranges::count(job->second.contents, content_of(event.packet->job_request())) == 0)
        violated(event.node, event.job, "what its worker is sent has never been stored under its id");
}

bool ValidRequests::points_beyond(std::string_view name, const Job& job, bool since_it_was_stored) const {
    if (job.points_to.empty()) return false;
    for (const auto part : prefixes_ | std::views::split(',')) {
        const std::string_view prefix = wire::trim(std::string_view(part.begin(), part.end()));
        if (!prefix.empty() && job.points_to.starts_with(prefix)) return false;
    }
    const std::string_view owner = wire::owner_of_data(job.points_to);
    if (owner.empty()) return true;
    const auto other = jobs_.find(owner);
    if (owner == name || other == jobs_.end() || other->second.stored == 0) return false;
    return other->second.tenant != job.tenant && (!since_it_was_stored || other->second.stored < job.stored);
}

void ValidRequests::note_stored(fakes::NodeId client, std::string_view name, std::string_view json) {
    const cap::JobRequest* request = read_request(json);
    Job& job = jobs_[std::string(name)];
    job.is_invalid = !request || names_two_tenants(*request) || !flaw_of(*request).empty();
    if (!is_scheduler(client)) job.sound = true;
    if (!request) return;
    job.tenant = tenant_named_in(*request);
    job.points_to = wire::key_of_pointer(request->context_ptr());
    if (job.stored == 0) job.stored = present();
    std::string content = content_of(*request);
    std::erase(job.contents, content);
    if (job.contents.size() == kContentsMax) job.contents.erase(job.contents.begin());
    job.contents.push_back(std::move(content));
}

void ValidRequests::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                               std::int64_t, std::int64_t) {
    if (key.starts_with(kRequestPrefix)) {
        const std::string_view job = key.substr(kRequestPrefix.size());
        if (is_scheduler(client)) must_be_sound(client, job, "a scheduler stores its request");
        note_stored(client, job, after);
    }
    if (!key.starts_with(kLetterPrefix) || !is_scheduler(client) ||
        after.find("invalid_request") == std::string_view::npos)
        return;
    const auto letter = nlohmann::json::parse(after, nullptr, false);
    const auto job = jobs_.find(key.substr(kLetterPrefix.size()));
    if (job == jobs_.end() || !letter.is_object() || letter.value("reason_code", "") != "invalid_request") return;
    exercise();
    if (!job->second.is_invalid && !points_beyond(job->first, job->second, false))
        violated(client, job->first, "its dead letter calls it invalid, and its stored request keeps every rule");
}

/// Without its records a job is unknown, and what belongs to it is no other's.
void ValidRequests::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                                std::int64_t) {
    if (const auto name = job_of_hash(key))
        if (const auto job = jobs_.find(*name); job != jobs_.end()) job->second.stored = 0;
}

void ValidRequests::restored(const fakes::redis::Keyspace& now) {
    for (auto& [name, job] : jobs_)
        if (now.find(std::string(kJobHashPrefix) + name) == nullptr) job.stored = 0;
    for (const std::string_view key : now.keys()) {
        const auto* text = std::get_if<std::string>(&now.find(key)->value);
        if (text != nullptr && key.starts_with(kRequestPrefix))
            note_stored(Topology::kRedis, key.substr(kRequestPrefix.size()), *text);
    }
}

}  // namespace lockstep::sim
