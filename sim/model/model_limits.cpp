// What the model makes of what limits jobs: requests, answers of policy, and documents of settings.
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;
namespace wire = engine::wire;

PolicyLimits limits_in(const cap::PolicyCheckResponse& response) {
    const auto& constraints = response.constraints();
    const auto& budgets = constraints.budgets();
    const auto at_least_0 = [](std::int64_t value) { return std::max<std::int64_t>(value, 0); };
    return {.is_constrained = response.has_constraints(),
            .constraints = wire::serialise(constraints),
            .redaction_level = constraints.redaction_level(),
            .runtime_ms = std::min(at_least_0(budgets.max_runtime_ms()), kLongestLimitMs),
            .artifact_bytes = at_least_0(budgets.max_artifact_bytes()),
            .concurrent = at_least_0(budgets.max_concurrent_jobs()),
            .retries = at_least_0(budgets.max_retries())};
}

void Model::note_policy_limits(Job& job, const cap::PolicyCheckResponse& response) {
    const PolicyLimits limits = limits_in(response);
    job.limits.answered(limits);
    if (response.decision() == cap::DECISION_TYPE_REQUIRE_HUMAN || response.approval_required())
        job.limits.asked_for_approval(limits);
}

/// `request`: null where it cannot be read.
void Model::note_request_limits(Job& job, const cap::JobRequest* request) {
    job.limits.is_request_known = request != nullptr;
    if (request == nullptr) return;
    job.limits.topic = wire::trim(request->topic());
    job.limits.workflow = request->workflow_id();
    job.limits.asked_ms = std::min(request->budget().deadline_ms(), kLongestLimitMs);
}

/// A field of the hash of a job.
void Model::write_limit(fakes::NodeId client, Job& job, std::string_view field, std::string_view after) {
    const bool by_scheduler = is_scheduler(client);
    if (field == "deadline_unix") {
        const std::int64_t before = std::exchange(job.limits.deadline, whole_number(after));
        job.limits.deadline_by_others |= !by_scheduler;
        if (by_scheduler) note(DeadlineWritten{}, client, &job, clock_.present()).before = before;
    } else if (by_scheduler && field == "ls_dispatches") {
        job.limits.dispatches = whole_number(after);
        note(DispatchCounted{}, client, &job, clock_.present());
    } else if (by_scheduler && field == "safety_decision") {
        job.limits.is_unanswered = after == "UNAVAILABLE";
    } else if (by_scheduler && field == "safety_reason") {
        job.limits.is_released = after == "approval granted";  // wire.md 8.1
    }
}

void Model::write_settings(fakes::NodeId client, const std::string* text_before, std::string_view text) {
    const auto before = settings_.stored();
    settings_.string_set(kSettingsKey, text);
    const auto after = settings_.stored();
    if (after != nullptr && after != before) {
        fail_mode_opened_ |= after->opens_input_policy.value_or(false);
        if (after->limits) time_limits_.push_back(*after->limits);
    }
    const bool is_of_a_file = after != nullptr && after->file_of_limits && !is_fingerprint(*after->file_of_limits);
    if (!is_scheduler(client) || !is_of_a_file) no_limits_owed();
    if (!is_written_by_scheduler(client)) return;
    SettingsWritten& fact = note(SettingsWritten{}, client, nullptr, clock_.present());
    if (text_before != nullptr) fact.before = *text_before;
    fact.after = text;
    fact.read_before = before;
    fact.read_after = after;
}

void Model::no_limits_owed() {
    for (Replica& replica : replicas_) replica.owes_limits = 0;
}

/// Where schedulers start with a file of limits, each writes those into the settings that hold the limits of another file.
void Model::follow_file_of_limits(const Event& event) {
    if (!file_limits_ || !is_scheduler(event.node)) return;
    Replica& of = replica(event.node);
    if (event.kind == EventKind::paused) of.owes_limits = 0;
    if (event.kind == EventKind::redis && event.key == kSettingsKey) {
        // A replica that cannot write them goes on with what is there.
        if (event.when == When::answered && event.outcome != EventOutcome::applied) of.owes_limits = 0;
        if (event.when != When::applied || event.command != "GET" || std::exchange(of.has_read_settings, true)) return;
        const auto stored = settings_.stored();
        if (stored != nullptr && stored->file_of_limits && !is_fingerprint(*stored->file_of_limits))
            of.owes_limits = clock_.present();
    }
    if (event.kind == EventKind::lock_acquired && !event.job.empty() && of.owes_limits != 0)
        note(FileLeftOut{}, event.node, &job_of(event), clock_.present()).found = std::exchange(of.owes_limits, 0);
}

}  // namespace lockstep::sim
