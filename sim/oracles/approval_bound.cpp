#include "sim/oracles/approval_bound.h"

#include <fmt/core.h>

#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "sim/oracles/job_keys.h"
#include "sim/world/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

constexpr std::string_view kRequestPrefix = "job:req:";

/// The content of a request without what a scheduler adds on its way to a worker.
std::string content_of(cap::JobRequest request) {
    auto& env = *request.mutable_env();
    for (auto it = env.begin(); it != env.end();) it = it->first.starts_with("CORDUM_") ? env.erase(it) : std::next(it);
    request.clear_budget();  // policy may have lowered it
    return wire::job_hash(request);
}

}  // namespace

void ApprovalBound::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                               std::int64_t, std::int64_t) {
    if (!key.starts_with(kRequestPrefix) || after.find("approval_granted") == std::string_view::npos) return;
    const std::string job(key.substr(kRequestPrefix.size()));
    labelled_.insert_or_assign(job, std::string(after));
    // The human has decided: what is written next about it may come late, or never.
    if (client == Topology::kOperator) note_approval(job, after);
}

void ApprovalBound::note_approval(const std::string& job, std::string_view request_json) {
    const auto request = wire::from_json<cap::JobRequest>(request_json);
    if (request) {
        approved_.insert_or_assign(job, content_of(*request));
        approved_at_.insert_or_assign(job, present());
    }
}

void ApprovalBound::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                             std::string_view after) {
    if (field == "state" && after == "APPROVAL_REQUIRED")
        if (const auto asked = job_of_hash(key)) question_recorded_.emplace(*asked);
    if (field != "approval_job_hash") return;
    const auto job = job_of_hash(key);
    if (!job) return;
    const auto stored = labelled_.find(*job);
    if (stored == labelled_.end()) return;
    note_approval(std::string(*job), stored->second);
}

void ApprovalBound::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case fakes::EventKind::kernel_check:
            if (event.when != fakes::When::applied) break;
            if (event.to == "REQUIRE_APPROVAL") waits_for_human_.insert_or_assign(std::string(event.job), present());
            if (event.to == "ALLOW" || event.to == "ALLOW_WITH_CONSTRAINTS") {
                waits_for_human_.erase(std::string(event.job));
                allowed_.emplace(event.job);
            }
            break;
        case fakes::EventKind::core_deliver:
            if (is_worker_subject(event.subject) && event.packet != nullptr) on_release(event, true);
            break;
        case fakes::EventKind::publish:
            if (event.when == fakes::When::before && event.subject == "sys.job.result" && event.packet != nullptr &&
                event.packet->job_result().worker_id() == "cordum-scheduler")
                on_release(event, false);
            break;
        default: break;
    }
}

void ApprovalBound::on_release(const fakes::Event& event, bool to_worker) {
    // A gate is a question to a human by itself, whatever policy says.
    if (to_worker) {
        const auto& labels = event.packet->job_request().labels();
        const bool only_says_so =
            labels.contains("approval_granted") && !allowed_.contains(event.job) && !labels.contains("safety_bypassed");
        if (!only_says_so && !waits_for_human_.contains(event.job)) return;
        // An answer that nobody could write down is none: with policy away, the fail mode decides.
        if (labels.contains("safety_bypassed") && !question_recorded_.contains(event.job)) return;
    }
    exercise();
    const auto approval = approved_.find(event.job);
    if (approval == approved_.end()) {
        const auto question = waits_for_human_.find(event.job);
        violated(event.node, event.job, "a human was to be asked, nobody approved, and it was let through",
                 question == waits_for_human_.end() ? 0 : question->second);
        return;
    }
    if (to_worker && content_of(event.packet->job_request()) != approval->second)
        violated(event.node, event.job,
                 fmt::format("it arrived on {} with other content than was approved", event.subject),
                 approved_at_[approval->first]);
}

}  // namespace lockstep::sim
