#include "sim/oracles/approval_bound.h"

#include <fmt/core.h>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

using fakes::EventKind;
using fakes::When;

void ApprovalBound::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                               std::int64_t, std::int64_t) {
    word_.string_set(key, after);
    approvals_.string_set(client, key, after, present());
}

void ApprovalBound::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                             std::string_view after) {
    if (field == "state" && after == "APPROVAL_REQUIRED")
        if (const auto asked = job_of_hash(key)) question_recorded_.emplace(*asked);
    approvals_.hash_set(client, key, field, present());
}

void ApprovalBound::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double*,
                             double) {
    word_.zset_set(client, key, member);
}

void ApprovalBound::restored(const fakes::redis::Keyspace&) { word_.restored(); }

void ApprovalBound::on_event(const fakes::Event& event, Time now) {
    word_.on_event(event, present(), now);
    approvals_.on_event(event);
    switch (event.kind) {
        case EventKind::kernel_check:
            if (event.when != When::applied) break;
            if (event.to == "REQUIRE_APPROVAL") waits_for_human_.insert_or_assign(std::string(event.job), present());
            if (event.to == "ALLOW" || event.to == "ALLOW_WITH_CONSTRAINTS")
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
