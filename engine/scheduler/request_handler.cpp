#include "engine/scheduler/request_handler.h"

#include <fmt/core.h>

#include "engine/scheduler/lock_wait.h"
#include "engine/store/keys.h"
#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// Set while the request that a human is asked about carries the label already: from its submitter, or from an approval of
/// other content. The hash leaves such labels out, so it cannot tell.
constexpr std::string_view kFieldLabelBeforeQuestion = "ls_label_before_question";

bool carries_grant(const cap::JobRequest& request) {
    const auto label = request.labels().find("approval_granted");
    return label != request.labels().end() && wire::ascii_lower(label->second) == "true";
}

/// Equal but for fields that the JSON form cannot carry.
bool same_request(const cap::JobRequest& stored, cap::JobRequest offered) {
    offered.DiscardUnknownFields();
    return wire::serialise(stored) == wire::serialise(offered);
}

}  // namespace

Task<Verdict> RequestHandler::handle(cap::JobRequest request, std::string trace_id) {
    if (const auto reason = wire::rejection(request)) {
        context_.ports.metrics.add(Metric::validation_rejections);
        context_.ports.log.event(LogLevel::warn, "job request rejected", {{"job_id", request.job_id()}, {"reason", *reason}});
        co_return Verdict::done();
    }
    wire::trim_identity(request);
    const MonoTime since = context_.ports.clock.monotonic();
    JobLease lease(context_.lease_ports(), request.job_id(), context_.ports.entropy.uuid());
    const auto taken =
        co_await wait_for_lock(context_, [&] { return context_.store.take_up(lease, request, trace_id); });
    if (!taken.applied()) {
        // The state could not be read: whether the job has been dispatched is anybody's guess, so nothing happens now.
        note_state_read(request.topic(), false);
        context_.ports.log.event(LogLevel::error, "state read failed, failing closed",
                                 {{"job_id", request.job_id()}, {"error", taken.failure().detail}});
        co_await lease.release();
        co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    }
    if (!taken.value()) co_return Verdict::hand_back(context_.tunables.retry_delay_busy);
    note_state_read(request.topic(), true);
    Verdict verdict = co_await under_lock(lease, Taken{request, *taken.value(), std::move(trace_id), since});
    if (lease.lost() && verdict.kind == Verdict::Kind::done) verdict = Verdict::hand_back(context_.tunables.retry_delay_busy);
    co_await lease.release();
    co_return verdict;
}

Task<Verdict> RequestHandler::under_lock(JobLease& lease, Taken job) {
    if (job.facts.state) {
        if (is_terminal(*job.facts.state) || job.facts.state == JobState::running) co_return Verdict::done();
        if (job.facts.state == JobState::dispatched) co_return co_await dispatcher_.recover(lease, job.facts);
    }
    context_.ports.metrics.add(Metric::jobs_received, {job.request.topic()});
    adopt_stored_request(job);
    if (job.trace_id.empty()) job.trace_id = job.facts.trace_id;
    // Waiting for a human: asking policy again would change nothing.
    if (job.facts.state == JobState::approval_required && !carries_grant(job.request)) co_return Verdict::done();
    if (job.facts.attempts >= context_.tunables.max_scheduling_retries) {
        DeadLetter letter{lease.job(), job.request.topic(), cap::JOB_STATUS_FAILED,
                          fmt::format("not dispatched in {} tries", job.facts.attempts), "max_scheduling_retries"};
        co_return co_await end_job(lease, JobState::failed, std::move(letter), nullptr);
    }

    if (context_.stopping) co_return Verdict::hand_back(Duration{0});
    std::optional<SafetyDecision> decision = co_await decide(job.request);
    if (!decision) co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    // The check may have outlived the lease: then somebody else is at this job, or soon will be.
    if (!lease.usable()) {
        context_.ports.log.reached("policy_check_outlived_lock");
        co_return Verdict::hand_back(context_.tunables.retry_delay_busy);
    }
    if (context_.stopping) co_return Verdict::hand_back(Duration{0});
    switch (decision->decision) {
        case Decision::allow:
        case Decision::allow_with_constraints: co_return co_await dispatch(lease, job, std::move(*decision));
        case Decision::throttle: co_return co_await postpone(lease, *decision, context_.tunables.safety_throttle_delay);
        case Decision::unavailable: co_return co_await unavailable(lease, job, std::move(*decision));
        case Decision::require_approval: co_return co_await ask_for_approval(lease, job, std::move(*decision));
        case Decision::deny: break;
    }
    context_.ports.metrics.add(Metric::safety_denied, {job.request.topic()});
    DeadLetter letter{lease.job(), job.request.topic(), cap::JOB_STATUS_DENIED, decision->reason,
                      decision->unknown_value ? "safety_unknown" : "safety_denied"};
    co_return co_await end_job(lease, JobState::denied, std::move(letter), &*decision);
}

Task<std::optional<SafetyDecision>> RequestHandler::decide(const cap::JobRequest& request) {
    if (carries_grant(request)) {
        const auto granted = co_await approved(request);
        if (!granted) co_return std::nullopt;
        if (*granted) {
            SafetyDecision decision(Decision::allow, "approval granted");
            decision.job_hash = wire::job_hash(request);
            co_return std::optional<SafetyDecision>(std::move(decision));
        }
        context_.ports.log.event(LogLevel::warn, "approval label ignored: it does not match what was to be approved",
                                 {{"job_id", request.job_id()}});
    }
    SafetyDecision decision = co_await context_.policy.check(request);
    co_return std::optional<SafetyDecision>(std::move(decision));
}

Task<std::optional<bool>> RequestHandler::approved(const cap::JobRequest& request) {
    RedisCommand read{"HMGET", keys::job_meta(request.job_id()), "safety_job_hash", "approval_job_hash",
                      std::string(kFieldLabelBeforeQuestion)};
    const auto record =
        co_await context_.ports.redis.command(std::move(read), context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!record.applied()) co_return std::nullopt;
    const std::string hash = wire::job_hash(request);
    const bool hash_asked = record.value().at(0).text() == hash;
    const bool hash_approved = record.value().at(1).text() == hash;
    // A label that was there before the question is no answer to it, unless an operator's own record stands beside it.
    const bool label_is_older = !record.value().at(2).text().empty();
    co_return hash_approved || (hash_asked && !label_is_older);
}

Task<Verdict> RequestHandler::end_job(JobLease& lease, JobState state, DeadLetter letter, const SafetyDecision* decision) {
    Commit commit;
    commit.walk = {state};
    commit.release_lock = true;
    commit.dead_letter = letter;
    if (decision != nullptr) {
        commit.decision_json = decision_record(*decision);
        commit.fields = decision_fields(*decision);
    }
    commit.fields.emplace_back("failure_reason", letter.reason);
    const auto ended = co_await context_.store.commit(lease, std::move(commit));
    if (!ended.applied()) co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    switch (ended.value().verdict) {
        case Committed::Verdict::lost: co_return Verdict::hand_back(context_.tunables.retry_delay_busy);
        case Committed::Verdict::refused: co_return Verdict::done();  // it ended otherwise meanwhile
        case Committed::Verdict::ok: break;
    }
    if (state == JobState::failed)
        context_.ports.metrics.add(Metric::jobs_completed, {letter.topic, cap::JobStatus_Name(letter.status)});
    co_await dead_letters_.announce(std::move(letter));
    co_return Verdict::done();
}

Task<Verdict> RequestHandler::ask_for_approval(JobLease& lease, const Taken& job, SafetyDecision decision) {
    decision.job_hash = wire::job_hash(job.request);
    Commit commit;
    if (job.facts.state != JobState::approval_required) commit.walk = {JobState::approval_required};
    commit.release_lock = true;
    commit.decision_json = decision_record(decision);
    commit.fields = decision_fields(decision);
    commit.fields.emplace_back(kFieldLabelBeforeQuestion, carries_grant(job.request) ? "1" : "");
    const auto asked = co_await context_.store.commit(lease, std::move(commit));
    if (!asked.applied()) co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    if (asked.value().verdict == Committed::Verdict::lost) co_return Verdict::hand_back(context_.tunables.retry_delay_busy);
    co_return Verdict::done();
}

Task<Verdict> RequestHandler::postpone(JobLease& lease, const SafetyDecision& decision, Duration delay) {
    Commit commit;
    commit.release_lock = true;
    commit.decision_json = decision_record(decision);
    commit.fields = decision_fields(decision);
    const auto noted = co_await context_.store.commit(lease, std::move(commit));
    if (!noted.applied()) co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    co_return Verdict::hand_back(delay);
}

Task<Verdict> RequestHandler::unavailable(JobLease& lease, Taken job, SafetyDecision decision) {
    const std::string topic = job.request.topic();
    context_.ports.metrics.add(Metric::safety_unavailable, {topic});
    if (context_.tunables.policy_check_fail_mode != "open")
        co_return Verdict::hand_back(context_.tunables.safety_unavailable_delay);
    context_.ports.metrics.add(Metric::input_fail_open, {topic});
    context_.ports.log.event(LogLevel::warn, "input policy fail-open: safety kernel unreachable",
                             {{"job_id", lease.job()}, {"reason", decision.reason}});
    RedisCommand count{"INCR", "cordum:scheduler:input_fail_open_total"};
    const auto counted = co_await context_.ports.redis.command(
        std::move(count), context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!counted.applied()) context_.ports.log.reached("fail_open_not_counted");
    auto& labels = *job.request.mutable_labels();
    labels["safety_bypassed"] = "true";
    labels["safety_bypass_reason"] = decision.reason;
    co_return co_await dispatch(lease, job, std::move(decision));
}

Task<Verdict> RequestHandler::dispatch(JobLease& lease, Taken job, SafetyDecision decision) {
    if (decision.answer && decision.answer->has_constraints()) apply_constraints(decision.answer->constraints(), job.request);
    DispatchOrder order{job.request, job.facts, decision, job.trace_id, job.since};
    co_return co_await dispatcher_.dispatch(lease, order);
}

void RequestHandler::adopt_stored_request(Taken& job) {
    if (job.facts.stored_request.empty()) return;
    auto stored = wire::from_json<cap::JobRequest>(job.facts.stored_request);
    if (!stored) {
        context_.ports.log.event(LogLevel::warn, "stored request not readable, using the delivered one",
                                 {{"job_id", job.request.job_id()}, {"error", stored.error().detail}});
        return;
    }
    // The stored one is what was approved; the delivered one may be older. Where they agree, the delivered one is kept
    // for the fields of later protocol versions that it may carry.
    if (!same_request(*stored, job.request)) {
        context_.ports.log.reached("stored_request_wins");
        job.request = std::move(*stored);
    }
}

void RequestHandler::note_state_read(std::string_view topic, bool readable) {
    if (readable && unreadable_streak_.empty()) return;
    const auto entry = unreadable_streak_.try_emplace(std::string(topic), 0).first;
    entry->second = readable ? 0 : entry->second + 1;
    if (!readable) context_.ports.metrics.add(Metric::state_read_fail_closed, {topic});
    context_.ports.metrics.set(Metric::state_read_fail_closed_streak, static_cast<double>(entry->second), {topic});
    if (readable) unreadable_streak_.erase(entry);
}

}  // namespace lockstep::engine
