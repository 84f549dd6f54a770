#include "engine/scheduler/result_handler.h"

#include "engine/scheduler/lock_wait.h"
#include "engine/wire/error_codes.h"
#include "engine/wire/messages.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// A dead letter goes with every end that is not a success, except a failure that the submitter may retry.
std::optional<DeadLetter> letter_for(const cap::JobResult& result, const std::string& topic) {
    if (result.status() == cap::JOB_STATUS_SUCCEEDED || result.status() == cap::JOB_STATUS_FAILED_RETRYABLE)
        return std::nullopt;
    DeadLetter letter{result.job_id(), topic, result.status(), result.error_message(), result.error_code()};
    if (letter.reason_code.empty())
        letter.reason_code = result.status() == cap::JOB_STATUS_TIMEOUT ? "timeout" : "job_failed";
    return letter;
}

}  // namespace

Task<Verdict> ResultHandler::handle(cap::JobResult result) {
    if (const auto reason = wire::rejection(result)) {
        context_.ports.metrics.add(Metric::validation_rejections);
        context_.ports.log.event(LogLevel::warn, "job result rejected",
                                 {{"job_id", result.job_id()}, {"reason", *reason}});
        co_return Verdict::done();
    }
    wire::fill_error_code(result);
    if (!state_of_result(result.status())) co_return Verdict::done();  // news of progress, not a result

    JobLease lease(context_.lease_ports(), result.job_id(), context_.ports.entropy.uuid());
    const auto taken = co_await wait_for_lock(context_, [&] { return context_.store.take_lock(lease); });
    if (!taken.applied()) {
        co_await lease.release();
        co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    }
    if (!taken.value()) co_return Verdict::hand_back(context_.tunables.retry_delay_busy);
    Verdict verdict = co_await under_lock(lease, result, *taken.value());
    if (lease.lost() && verdict.kind == Verdict::Kind::done)
        verdict = Verdict::hand_back(context_.tunables.retry_delay_busy);
    co_await lease.release();
    co_return verdict;
}

Task<Verdict> ResultHandler::under_lock(JobLease& lease, const cap::JobResult& result, const JobFacts& facts) {
    const JobState target = *state_of_result(result.status());
    if (facts.state && is_terminal(*facts.state)) {
        context_.ports.log.reached("result_after_end");
        co_return Verdict::done();
    }
    if (!transition_allowed(facts.state, target)) {
        // A job that is not known, or a status that this state cannot take: no redelivery would ever change that.
        context_.ports.log.reached("result_without_transition");
        context_.ports.log.event(LogLevel::warn, "result ignored: no such transition",
                                 {{"job_id", lease.job()},
                                  {"from", facts.state ? to_string(*facts.state) : "unknown job"},
                                  {"to", to_string(target)}});
        co_return Verdict::done();
    }
    const std::string topic = facts.topic.empty() ? "unknown" : facts.topic;
    Commit commit;
    commit.walk = {target};
    commit.release_lock = true;
    commit.result_ptr = result.result_ptr();
    commit.worker_id = result.worker_id();
    commit.dead_letter = letter_for(result, topic);
    if (commit.dead_letter) commit.fields.emplace_back("failure_reason", result.error_message());
    SagaPlan saga = plan_saga(result.status(), facts.stored_request);
    if (!saga.problem.empty())
        context_.ports.log.event(LogLevel::error, "nothing is recorded for a rollback",
                                 {{"job_id", lease.job()}, {"reason", saga.problem}});
    if (!saga.readable) {
        context_.ports.log.reached("result_waits_for_its_request");
        co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    }
    const auto effect = saga.effect;
    if (effect) {
        const auto included = co_await context_.sagas.include(*effect, commit);
        if (!included.applied()) co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    }
    const auto letter = commit.dead_letter;
    const auto committed = co_await context_.store.commit(lease, std::move(commit));
    if (!committed.applied()) {
        if (!result.result_ptr().empty()) context_.ports.metrics.add(Metric::result_ptr_write_failure);
        co_return Verdict::hand_back(context_.tunables.retry_delay_store);
    }
    switch (committed.value().verdict) {
        case Committed::Verdict::lost: co_return Verdict::hand_back(context_.tunables.retry_delay_busy);
        case Committed::Verdict::refused: co_return Verdict::done();  // ended by somebody without the lock
        case Committed::Verdict::ok: break;
    }
    context_.registry.note_end(result.worker_id());
    context_.ports.metrics.add(Metric::jobs_completed, {topic, cap::JobStatus_Name(result.status())});
    if (effect) note_effect(*effect);
    if (letter) co_await dead_letters_.announce(*letter);
    co_return Verdict::done();
}

void ResultHandler::note_effect(const SagaEffect& effect) {
    if (!effect.rollback) {
        context_.ports.metrics.add(Metric::saga_recorded);
        return;
    }
    context_.ports.metrics.add(Metric::saga_rollbacks);
    context_.ports.log.event(LogLevel::warn, "rollback started", {{"saga", effect.saga}});
    rollbacks_.start(effect.saga);
}

}  // namespace lockstep::engine
