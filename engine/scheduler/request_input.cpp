// What the input of a job means for its request: whether the job may have it, whether policy was shown it, and whether it is still the
// one that was approved.
#include <fmt/core.h>

#include "engine/scheduler/pointers.h"
#include "engine/scheduler/request_handler.h"
#include "engine/store/delays.h"
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// How often a job whose input is not found is tried again before it is denied: over fifteen seconds in all, in which whoever
/// stores the input after the job has time to do so (D-09).
constexpr std::int64_t kInputTries = 3;
static_assert(kInputTries * kInputRetryDelay >= std::chrono::seconds{15});

}  // namespace

Task<std::optional<Disposition>> RequestHandler::refuse_foreign_input(JobLease& lease, const Taken& job) {
    const std::string& pointer = job.request.context_ptr();
    const auto may = co_await may_point(replica_, pointer, lease.job(), std::string(wire::tenant_of(job.request)));
    if (!may.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    if (may.value()) co_return std::nullopt;
    replica_.ports.log.reached("pointer_refused");
    replica_.ports.metrics.add(Metric::validation_rejections);
    DeadLetter letter{lease.job().text(), job.request.topic(), cap::JOB_STATUS_FAILED,
                      fmt::format("context_ptr {}: {}", pointer, kMayNotPoint), "invalid_request"};
    co_return co_await end_job(lease, JobState::failed, std::move(letter), nullptr);
}

Task<std::optional<bool>> RequestHandler::stands_for_input(const Taken& job, Grant& grant) {
    auto input = co_await replica_.policy.input_hash(job.request.context_ptr());
    if (!input) co_return std::nullopt;
    // What is gone has not been exchanged (D-09).
    const bool same = grant.input_hash.empty() || *input == kNoInputFound || grant.input_hash == *input;
    if (!same) {
        replica_.ports.log.reached("input_changed_after_approval");
        replica_.ports.log.event(LogLevel::warn, "approval set aside: the job's input is not the one that was approved",
                                 {{"job_id", job.request.job_id()}});
    }
    // A gateway has asked, and has not written down about what: from here on this is it.
    if (grant.input_hash.empty()) grant.decision->input_hash = std::move(*input);
    co_return same;
}

Task<std::optional<Disposition>> RequestHandler::hold_for_input(JobLease& lease, const Taken& job,
                                                                SafetyDecision& decision) {
    if (!replica_.mechanisms.on(Mechanism::input_seen)) decision.input = InputSeen::yes;
    const bool missing = decision.input == InputSeen::missing;
    const bool no_answer = decision.decision == Decision::unavailable || decision.decision == Decision::throttle;
    // A denial stands, whatever more there would have been to see; without an answer nothing was let through.
    if (decision.input == InputSeen::yes || no_answer || decision.decision == Decision::deny) co_return std::nullopt;
    if (replica_.tunables.policy_check_fail_mode == "open") {
        replica_.ports.log.reached("input_passed_unseen");
        replica_.ports.metrics.add(Metric::input_unread, {job.request.topic()});
        replica_.ports.log.event(LogLevel::warn, "input policy fail-open: the job's input could not be read",
                                 {{"job_id", lease.job()}, {"context_ptr", job.request.context_ptr()}});
        co_return std::nullopt;
    }
    replica_.ports.log.reached("input_unseen");
    // The question that was raised stands.
    if (job.facts.state == JobState::approval_required) {
        if (missing) co_return Disposition::nothing_to_do();
        co_return Disposition::hand_back(replica_.tunables.safety_unavailable_delay);
    }
    if (missing && job.facts.input_misses >= kInputTries) {
        const std::string reason = fmt::format("policy has to see the job's input, and nothing can be read at {}",
                                               wire::key_of_pointer(job.request.context_ptr()));
        const SafetyDecision denial(Decision::deny, reason);
        DeadLetter letter{lease.job().text(), job.request.topic(), cap::JOB_STATUS_DENIED, reason, "input_unreadable"};
        co_return co_await end_job(lease, JobState::denied, std::move(letter), &denial);
    }
    const SafetyDecision none(Decision::unavailable,
                              missing ? "the job's input was not found" : "the job's input could not be read");
    const SafetyDecision* const recorded = job.facts.human_asked ? nullptr : &none;
    if (missing)
        co_return co_await postpone(lease, recorded, kInputRetryDelay, {kFieldInputMisses, job.facts.input_misses + 1});
    co_return co_await postpone(lease, recorded, replica_.tunables.safety_unavailable_delay);
}

}  // namespace lockstep::engine
