#include "engine/scheduler/result_handler.h"

#include <fmt/core.h>

#include "engine/announce/output_audit.h"
#include "engine/runtime/invariant.h"
#include "engine/saga/effect.h"
#include "engine/scheduler/pointers.h"
#include "engine/store/lock_wait.h"
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

/// Why nobody believes that this result is about what was sent out, in the words of the metric; empty: it counts (D-05). The
/// dispatch is committed before anything is published, so nobody can have worked on a job that is not DISPATCHED. Where it says
/// nothing of a worker, it went to a topic or was sent by a scheduler that does not write it down.
std::string_view doubt_about(const cap::JobResult& result, const JobFacts& facts, const Tunables& tunables,
                             bool worker_is_known) {
    // From a worker that is known here: the job's record is lost, or another deployment has sent it there.
    if (!facts.state) return worker_is_known ? "unknown_job_known_worker" : "unknown_job";
    if (facts.state != JobState::dispatched && facts.state != JobState::running) return "not_dispatched";
    if (facts.worker.empty() || facts.worker == WorkerId(result.worker_id()) || tunables.results_from_any_worker)
        return {};
    return "other_worker";
}

/// The end that the result asks for. REQUIRES: it asks for one.
JobState end_asked_by(const cap::JobResult& result) {
    const auto state = state_of_result(result.status());
    PRECONDITION(state.has_value(), "a result of status {} ends no job, {} neither", static_cast<int>(result.status()),
                 result.job_id());
    return *state;
}

/// A result that asks for what no job at work can become settles nothing, and must not stand in another's place.
bool ends_a_job_at_work(const cap::JobResult& result) {
    const JobState target = end_asked_by(result);
    return transition_allowed(JobState::dispatched, target) || transition_allowed(JobState::running, target);
}

/// Marks a failure that has no dead letter on purpose.
constexpr const char* kFieldRetryable = "ls_retryable";
/// Marks a failure that is not tried again: its workflow's run must know.
constexpr const char* kFieldFatal = "ls_fatal";

}  // namespace

Task<Disposition> ResultHandler::handle(cap::JobResult result, StreamSequence sequence, MessageMarks* message) {
    if (const auto reason = wire::rejection(result)) {
        replica_.ports.metrics.add(Metric::validation_rejections);
        replica_.ports.log.event(LogLevel::warn, "job result rejected",
                                 {{"job_id", result.job_id()}, {"reason", *reason}});
        co_return Disposition::done();
    }
    wire::fill_error_code(result);
    if (!state_of_result(result.status())) co_return Disposition::done();  // news of progress, not a result

    Room::Place place = co_await replica_.room->enter();
    JobLease lease(replica_.leases.ports(), JobId(result.job_id()), Token(replica_.ports.entropy.uuid()), message);
    // What stands in front of output policy is only of interest where it will be asked.
    const bool judged = replica_.tunables.output_policy_enabled && result.status() == cap::JOB_STATUS_SUCCEEDED;
    const std::vector<std::string> along = judged ? replica_.output.circuit_keys() : std::vector<std::string>{};
    const ResultTurn turn{
        ends_a_job_at_work(result) ? sequence : StreamSequence{},
        replica_.mechanisms.on(Mechanism::result_order) ? replica_.tunables.bus_ack_wait : Duration{0},
        replica_.tunables.results_from_any_worker ? WorkerId{} : WorkerId(result.worker_id())};
    const auto taken = co_await wait_for_lock(replica_, replica_.store, lease,
                                              [&] { return replica_.store.take_turn(lease, turn, along); });
    if (!taken.applied()) {
        co_await lease.release();
        co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    }
    if (!taken.value()) {
        if (lease.out_of_turn()) {
            replica_.ports.metrics.add(Metric::results_out_of_turn);
            replica_.ports.log.reached("result_out_of_turn");
        }
        co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    }
    if (taken.value()->handled_before) co_return Disposition::done();
    Disposition disposition;
    switch (co_await start_handling(replica_, lease, place, taken.value()->lost)) {
        case HandlingStart::goes_on: disposition = co_await under_lock(lease, result, *taken.value()); break;
        case HandlingStart::set_aside: disposition = co_await set_aside(lease, *taken.value()); break;
        case HandlingStart::not_now: disposition = Disposition::hand_back(replica_.tunables.retry_delay_busy); break;
    }
    if (lease.lost() && disposition.kind == Disposition::Kind::done)
        disposition = Disposition::hand_back(replica_.tunables.retry_delay_busy);
    if (disposition.kind == Disposition::Kind::done) lease.settle_on_release(sequence);
    co_await lease.release();
    co_return disposition;
}

Task<Disposition> ResultHandler::under_lock(JobLease& lease, cap::JobResult& result, const JobFacts& facts) {
    if (!may_end(result, facts)) co_return Disposition::done();
    SagaPlan saga = plan_saga(result.status(), facts.stored_request);
    if (!saga.problem.empty())
        replica_.ports.log.event(LogLevel::error, "nothing is recorded for a rollback",
                                 {{"job_id", lease.job()}, {"reason", saga.problem}});
    if (!saga.readable) {
        const bool told = co_await tell_of_unknown_effect(lease.job(), facts.topic, saga.problem);
        if (!told) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    }
    OutputPassage output;
    if (state_of_result(result.status()) == JobState::succeeded) {
        const auto may = co_await may_point(replica_, result.result_ptr(), lease.job(), facts.tenant);
        if (!may.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
        if (may.value())
            output = co_await gate_.judge(result, facts);
        else
            refuse_output(result, facts, output);
        if (output.no_room) co_return Disposition::hand_back(replica_.tunables.safety_throttle_delay);
        if (!lease.usable()) {
            if (replica_.tunables.output_policy_enabled) replica_.ports.log.reached("output_check_outlived_lock");
            co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
        }
    }
    Commit commit = end_of_job(result, facts, output);
    // Also where the output is withheld: the work has been done, and can be undone.
    const auto effect = saga.effect;
    if (effect) {
        const auto included = co_await replica_.sagas.include(*effect, commit);
        if (!included.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    }
    const auto letter = commit.dead_letter;
    const std::string late_pointer =
        replica_.mechanisms.on(Mechanism::result_before_state) ? std::string{} : std::exchange(commit.result_ptr, {});
    const auto committed = co_await replica_.store.commit(lease, std::move(commit));
    if (!committed.applied()) {
        if (!result.result_ptr().empty()) replica_.ports.metrics.add(Metric::result_ptr_write_failure);
        co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    }
    switch (committed.value().kind) {
        case Committed::Kind::lost: co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
        case Committed::Kind::refused: co_return Disposition::done();  // ended by somebody without the lock
        case Committed::Kind::ok: break;
    }
    replica_.registry.note_end(WorkerId(result.worker_id()));
    if (!late_pointer.empty()) {
        const auto stored = co_await replica_.store.set_result_ptr(lease.job(), late_pointer);
        if (!stored.applied()) replica_.ports.metrics.add(Metric::result_ptr_write_failure);
    }
    if (effect) note_effect(*effect);
    co_await follow_up(result, facts.topic.empty() ? "unknown" : facts.topic, std::move(output), letter);
    co_return Disposition::done();
}

Task<Disposition> ResultHandler::set_aside(JobLease& lease, const JobFacts& facts) {
    Commit commit;
    commit.walk = {JobState::failed};
    commit.release_lock = true;
    commit.settles_message = true;
    commit.dead_letter = letter_of_lost(lease.job().text(), facts.topic.empty() ? "unknown" : facts.topic);
    const DeadLetter letter = *commit.dead_letter;
    commit.fields.emplace_back("failure_reason", letter.reason);
    const auto ended = co_await replica_.store.commit(lease, std::move(commit));
    if (!ended.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    switch (ended.value().kind) {
        case Committed::Kind::lost: co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
        case Committed::Kind::refused: co_return Disposition::done();  // ended by somebody without the lock
        case Committed::Kind::ok: break;
    }
    replica_.ports.metrics.add(Metric::jobs_completed, {letter.topic, cap::JobStatus_Name(letter.status)});
    co_await dead_letters_.announce(letter);
    co_return Disposition::done();
}

Task<bool> ResultHandler::tell_of_unknown_effect(JobId job, std::string topic, std::string problem) {
    replica_.ports.log.reached("saga_effect_unknown");
    DeadLetter letter{
        "saga-unknown-" + job.text(), std::move(topic), cap::JOB_STATUS_FAILED_FATAL,
        fmt::format("job {} has ended, and its stored request cannot be read ({}): if it belonged to a saga, "
                    "neither its compensation is recorded nor a rollback begun",
                    job, problem),
        std::string(kSagaUnmarshalFailed)};
    const auto written = co_await replica_.letters.put(letter);
    if (!written.applied()) co_return false;
    dead_letters_.announce_aside(std::move(letter));
    co_return true;
}

bool ResultHandler::may_end(const cap::JobResult& result, const JobFacts& facts) {
    const JobState target = end_asked_by(result);
    if (!replica_.mechanisms.on(Mechanism::terminal_idempotency)) return true;
    if (facts.state && is_terminal(*facts.state)) {
        replica_.ports.log.reached("result_after_end");
        return false;
    }
    if (replica_.mechanisms.on(Mechanism::result_origin)) {
        const bool known = replica_.registry.is_alive(WorkerId(result.worker_id()), replica_.ports.clock.monotonic());
        if (const auto doubt = doubt_about(result, facts, replica_.tunables, known); !doubt.empty()) {
            refuse(result, facts, doubt);
            return false;
        }
    }
    if (transition_allowed(facts.state, target)) return true;
    // A status that this state cannot take: no redelivery would ever change that.
    replica_.ports.log.reached("result_without_transition");
    replica_.ports.log.event(LogLevel::warn, "result ignored: no such transition",
                             {{"job_id", result.job_id()},
                              {"from", facts.state ? to_string(*facts.state) : "unknown job"},
                              {"to", to_string(target)}});
    return false;
}

void ResultHandler::refuse_output(cap::JobResult& result, const JobFacts& facts, OutputPassage& output) {
    replica_.ports.log.reached("pointer_refused");
    const std::string reason = fmt::format("result_ptr {}: {}", result.result_ptr(), kMayNotPoint);
    if (replica_.tunables.output_policy_enabled) {
        output.verdict.emplace();
        output.verdict->decision = OutputDecision::quarantine;
        output.verdict->reason = reason;
        output.verdict->original_ptr = result.result_ptr();
        count_verdict(replica_, *output.verdict, facts.topic);
    } else {
        result.set_status(cap::JOB_STATUS_FAILED);
        result.set_error_code("invalid_result_pointer");
        result.set_error_message(reason);
    }
    result.clear_result_ptr();
}

void ResultHandler::refuse(const cap::JobResult& result, const JobFacts& facts, std::string_view reason) {
    replica_.ports.metrics.add(Metric::results_refused, {reason});
    replica_.ports.log.reached("result_refused");
    const auto held_back = refusals_.admit(reason, replica_.ports.clock.monotonic());
    if (!held_back) return;
    replica_.ports.log.event(LogLevel::warn, "result refused: it is not from the worker that the job was sent to",
                             {{"job_id", result.job_id()},
                              {"reason", reason},
                              {"state", facts.state ? to_string(*facts.state) : "unknown job"},
                              {"worker_id", result.worker_id()},
                              {"sent_to", facts.worker},
                              {"more_since_the_last", *held_back}});
}

Commit ResultHandler::end_of_job(const cap::JobResult& result, const JobFacts& facts,
                                 const OutputPassage& output) const {
    const std::string topic = facts.topic.empty() ? "unknown" : facts.topic;
    Commit commit;
    commit.walk = {end_asked_by(result)};
    commit.from_any_state = !replica_.mechanisms.on(Mechanism::terminal_idempotency);
    commit.release_lock = true;
    commit.settles_message = true;
    commit.result_ptr = result.result_ptr();
    commit.worker_id = WorkerId(result.worker_id());
    commit.dead_letter = letter_for(result, topic);
    if (commit.dead_letter) commit.fields.emplace_back("failure_reason", result.error_message());
    if (result.status() == cap::JOB_STATUS_FAILED_RETRYABLE) commit.fields.emplace_back(kFieldRetryable, "1");
    if (result.status() == cap::JOB_STATUS_FAILED_FATAL) commit.fields.emplace_back(kFieldFatal, "1");
    if (output.verdict) {
        commit.output_record = output_record(*output.verdict);
        if (output.verdict->decision == OutputDecision::redact) commit.result_ptr = output.verdict->redacted_ptr;
        if (output.verdict->withheld()) {
            const std::string& reason = output.verdict->reason;
            commit.walk = {JobState::output_quarantined};
            commit.dead_letter =
                DeadLetter{result.job_id(), topic, cap::JOB_STATUS_DENIED, reason, std::string(kCodeQuarantined)};
            commit.fields.emplace_back("failure_reason", reason);
        }
    }
    if (output.to_scan) commit.begin_scan = scanner_.mark(result);
    return commit;
}

Task<void> ResultHandler::follow_up(const cap::JobResult& result, const std::string& topic, OutputPassage output,
                                    std::optional<DeadLetter> letter) {
    const bool withheld = output.verdict && output.verdict->withheld();
    replica_.ports.metrics.add(Metric::jobs_completed,
                               {topic, withheld ? "OUTPUT_QUARANTINED" : cap::JobStatus_Name(result.status())});
    if (output.to_scan) scanner_.begin(std::make_shared<const cap::JobResult>(result), std::move(output.to_scan));
    if (output.verdict && output.verdict->decision == OutputDecision::redact)
        co_await audit_passed(replica_, JobId(result.job_id()), topic, output.verdict->reason);
    if (letter) co_await dead_letters_.announce(std::move(*letter));
}

void ResultHandler::note_effect(const SagaEffect& effect) {
    if (!effect.rollback) {
        replica_.ports.metrics.add(Metric::saga_recorded);
        return;
    }
    replica_.ports.metrics.add(Metric::saga_rollbacks);
    replica_.ports.log.event(LogLevel::warn, "rollback started", {{"saga", effect.saga.text()}});
    rollbacks_.start(replica_.sagas.meant(effect.saga));
}

}  // namespace lockstep::engine
