#include "sim/oracles/approval_bound.h"

#include <fmt/core.h>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::EventKind;
using fakes::When;

namespace {

/// The reason of a decision that a human has made.
constexpr std::string_view kGranted = "approval granted";

}  // namespace

void ApprovalBound::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                               std::int64_t, std::int64_t) {
    word_.string_set(key, after);
    approvals_.string_set(client, key, after, present());
    if (!key.starts_with(kRequestPrefix)) return;
    const std::string_view job = key.substr(kRequestPrefix.size());
    const auto* approval = approvals_.find(job);
    const auto waiting = waiting_.find(job);
    if (waiting != waiting_.end() && approval != nullptr && approval->event == present())
        waiting->second.stored_approved = true;
}

void ApprovalBound::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                             std::string_view after) {
    const auto job = job_of_hash(key);
    if (job && field == "state") on_state(client, *job, after);
    // It is asked about anew, as it is stored now.
    if (job && field == "safety_decision" && after == "REQUIRE_APPROVAL" && is_scheduler(client))
        if (const auto waiting = waiting_.find(*job); waiting != waiting_.end()) waiting->second = {};
    if (job && field == "safety_reason" && after == kGranted && is_scheduler(client)) on_grant(client, *job);
    approvals_.hash_set(client, key, field, present());
}

void ApprovalBound::on_state(fakes::NodeId client, std::string_view job, std::string_view state) {
    if (state == "APPROVAL_REQUIRED") {
        question_recorded_.emplace(job);
        waiting_.insert_or_assign(std::string(job), Waiting{});
    } else if (!is_scheduler(client)) {
        // Moved on, which an operator does once the approval is recorded.
        if (const auto waiting = waiting_.find(job); waiting != waiting_.end()) waiting_.erase(waiting);
    }
}

/// What was asked about is lost: whether anybody has approved it, only a whole approval tells.
void ApprovalBound::on_grant(fakes::NodeId client, std::string_view job) {
    const auto waiting = waiting_.find(job);
    if (waiting == waiting_.end() || !waiting->second.request_lost) return;
    exercise();
    if (waiting->second.stored_approved) return;
    violated(
        client, job,
        "it counts as approved though its stored request is lost, and no operator has moved it on from its question",
        waiting->second.event);
}

void ApprovalBound::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                                std::int64_t) {
    const auto hash = job_of_hash(key);
    if (hash) {
        if (const auto waiting = waiting_.find(*hash); waiting != waiting_.end()) waiting_.erase(waiting);
    }
    if (!key.starts_with(kRequestPrefix)) return;
    const auto waiting = waiting_.find(key.substr(kRequestPrefix.size()));
    if (waiting != waiting_.end()) waiting->second = {true, false, present()};
}

void ApprovalBound::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double*,
                             double) {
    word_.zset_set(client, key, member);
}

void ApprovalBound::restored(const fakes::redis::Keyspace& now) {
    word_.restored();
    waiting_.clear();
    // A question that Redis has forgotten is asked anew, or by the fail mode not at all.
    std::erase_if(question_recorded_, [&](const std::string& job) {
        return approvals_.find(job) == nullptr && job_state(now, job) != "APPROVAL_REQUIRED";
    });
}

void ApprovalBound::on_event(const fakes::Event& event, Time now) {
    word_.on_event(event, present(), now);
    approvals_.on_event(event);
    switch (event.kind) {
        case EventKind::kernel_check:
            if (event.when != When::applied) break;
            if (asks_for_human(event))
                waits_for_human_.insert_or_assign(std::string(event.job), present());
            else if (event.to == "ALLOW" || event.to == "ALLOW_WITH_CONSTRAINTS")
                waits_for_human_.erase(std::string(event.job));
            break;
        case EventKind::publish:
            if (event.when != When::before || event.packet == nullptr) break;
            if (is_worker_subject(event.subject)) sent_.insert_or_assign(std::string(event.job), judged(event));
            if (event.subject == engine::wire::kSubjectResult &&
                event.packet->job_result().worker_id() == "cordum-scheduler")
                on_gate(event);
            break;
        case EventKind::core_deliver: {
            const auto sent = is_worker_subject(event.subject) ? sent_.find(event.job) : sent_.end();
            if (sent != sent_.end() && !sent->second.what.empty())
                violated(event.node, event.job, fmt::format("it arrived on {}: {}", event.subject, sent->second.what),
                         sent->second.earlier);
            break;
        }
        default: break;
    }
}

bool ApprovalBound::needs_approval(const fakes::Event& sending) const {
    const cap::JobRequest& request = sending.packet->job_request();
    switch (word_.on_sending(sending.node, sending.job, request).leave) {
        case Leave::allowed: return false;
        // With policy away, the fail mode decides: an answer that nobody could write down is none.
        case Leave::failed_open: return question_recorded_.contains(sending.job);
        case Leave::none: break;
    }
    return request.labels().contains("approval_granted") || waits_for_human_.contains(sending.job);
}

ApprovalBound::Fault ApprovalBound::judged(const fakes::Event& sending) {
    if (!needs_approval(sending)) return {};
    exercise();
    const auto* approval = approvals_.find(sending.job);
    if (approval == nullptr) return unapproved(sending.job);
    if (OperatorApprovals::content_of(sending.packet->job_request()) == approval->content) return {};
    return {"it was sent with other content than was approved", approval->event};
}

/// A gate is a question to a human by itself, whatever policy says.
void ApprovalBound::on_gate(const fakes::Event& event) {
    exercise();
    if (approvals_.find(event.job) != nullptr) return;
    const Fault fault = unapproved(event.job);
    violated(event.node, event.job, std::string(fault.what), fault.earlier);
}

ApprovalBound::Fault ApprovalBound::unapproved(std::string_view job) const {
    const auto question = waits_for_human_.find(job);
    return {"a human was to be asked, nobody approved, and it was let through",
            question == waits_for_human_.end() ? 0 : question->second};
}

}  // namespace lockstep::sim
