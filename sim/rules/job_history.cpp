// What was asked of a job, and what was answered, explains every state that it was in.
//
// 1. The operations are those of users and workers: submit, cancel, approve, reject, and the result of a worker. Each has a call and,
//    mostly, an answer; it takes effect at one instant between the two, or never when it has no answer. The states in Redis are the reads.
// 2. A state needs its cause: CANCELLED a cancellation that was called, by an operator or by a message on sys.job.cancel; SUCCEEDED a
//    worker's success, or an approved gate of which the stream has the result (SAFE-06); DENIED a refusal, or an input that was looked for
//    in vain; APPROVAL_REQUIRED a policy that asks for it, and its end an approval. What a scheduler does by itself has its causes in the
//    job (sim/spec/own_ends.h).
// 3. An answer binds: a job of which a user was told that it is cancelled is cancelled; an approval that was accepted releases the job; a
//    result that was acknowledged to the stream has ended the job, if it came from the worker that the job was sent to, was delivered
//    while the job was out, and was not processed before that.
// 4. A job of which Redis has lost something is not judged: nothing that it is after that explains the loss.
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/own_ends.h"
#include "sim/spec/result_rules.h"

namespace lockstep::sim::rules {

namespace {

/// An input is looked for once more after the three tries that are promised, and so many calls to policy without an end deny a job:
/// fail_modes and circuit_rules judge whether others were answered meanwhile.
constexpr int kTriesForAnInput = 3;
constexpr int kUnansweredThatDeny = 3;

/// What is missing of users and workers for the job to go to `to`; empty: nothing.
std::string_view missing_cause(const Job& job, State from, State to) {
    const Causes& causes = job.causes;
    const bool approved = causes.of(Asked::approve).called;
    if (from == State::absent && !causes.is_named) return "it was never submitted";
    const bool goes_on = to == State::pending || is_active(to);
    // A gateway that died and submits again begins again: policy is asked anew.
    const bool submitted_again = to == State::pending && causes.of(Asked::submit).open;
    if (from == State::approval_required && goes_on && !approved && !submitted_again) return "it was not approved";
    switch (to) {
        case State::running: return causes.is_sent ? "" : "it has not been sent to a worker";
        case State::succeeded:
            return job.reported.success || (job.is_gate && approved) ? "" : "no worker has reported a success";
        case State::cancelled:
            return causes.of(Asked::cancel).called || job.reported.cancelled ? ""
                                                                             : "it was never asked to be cancelled";
        default: return {};
    }
}

/// The same of policy.
std::string_view missing_word(const Job& job, State to, const Model& model) {
    const Causes& causes = job.causes;
    if (to == State::approval_required)
        return causes.policy_wants_human || job.is_gate ? "" : "policy has not asked for an approval";
    if (to != State::denied) return {};
    const bool denied = causes.policy_refused || causes.of(Asked::reject).called ||
                        model.misses_of_input(job) > kTriesForAnInput ||
                        causes.policy_unanswered >= kUnansweredThatDeny;
    return denied ? "" : "neither policy nor a human has refused it";
}

void require_cause(const StateChanged& change, std::string_view missing, Verdict& verdict) {
    verdict.require(missing.empty(), 0, "it went from \"{}\" to {}, and {}", to_string(change.in_hash),
                    to_string(change.to), missing);
}

void has_its_cause(const StateChanged& change, const Model& model, Verdict& verdict) {
    const Job& job = *change.job;
    verdict.exercised();
    if (job.lost.any()) return;
    require_cause(change, missing_cause(job, change.in_hash, change.to), verdict);
    const bool opened =
        change.to == State::succeeded && job.is_gate && !job.reported.success && is_scheduler(change.node);
    verdict.require(!opened || job.causes.success_stored || model.packets_garbled(), 0,
                    "it is a gate and has succeeded, and no stream has the result that says so");
}

void has_its_word(const StateChanged& change, const Model& model, Verdict& verdict) {
    if (!change.job->lost.any()) require_cause(change, missing_word(*change.job, change.to, model), verdict);
}

void binds(const OperationAnswered& answer, const Model&, Verdict& verdict) {
    const bool cancels = answer.what == Asked::cancel;
    if (!answer.accepted || (!cancels && answer.what != Asked::reject)) return;
    verdict.exercised();
    const Job& job = *answer.job;
    verdict.cite("engine/wire/wire.md 9.2");
    verdict.require((cancels ? job.causes.was_cancelled : job.causes.was_denied) || job.lost.any(), 0,
                    "the operator was told that it is {}, and it has been \"{}\" all the time",
                    cancels ? "cancelled" : "rejected", to_string(job.in_hash));
}

void has_ended_its_job(const ResultSettled& settled, const Model& model, Verdict& verdict,
                       const engine::Tunables& tunables) {
    const Job& job = *settled.job;
    // A garbled result is acknowledged and changes nothing.
    if (model.packets_garbled() || job.in_hash == State::absent) return;
    const bool ended = is_final(job.in_hash);
    const EventNumber sent = job.dispatch.since;
    const bool processed_before = settled.processed != 0 && settled.processed < sent;
    const bool counts = spec::may_end(job.dispatch, settled.worker, tunables) && sent < settled.delivered;
    if (!ended && (!counts || processed_before)) return;
    verdict.exercised();
    verdict.cite("engine/wire/wire.md 9, step 4");
    verdict.require(ended || job.lost.any(), settled.delivered,
                    "its result {} is taken off the stream, and it is still {}", to_string(settled.asks_for),
                    to_string(job.in_hash));
}

}  // namespace

void job_history(Rules& rules, const engine::Tunables& tunables) {
    rules.add(has_its_cause);
    rules.add<PolicyAnswered>(has_its_word);
    rules.add(binds);
    rules.add([&tunables](const ResultSettled& settled, const Model& model, Verdict& verdict) {
        has_ended_its_job(settled, model, verdict, tunables);
    });
    rules.add([&tunables](const StateDated& dated, const Model& model, Verdict& verdict) {
        if (dated.stays.now.state != State::timeout || model.packets_garbled() || dated.job->lost.any()) return;
        verdict.cite("engine/config/settings.md 3");
        const std::string wrong = spec::unexplained_timeout(dated, model, tunables);
        verdict.require(wrong.empty(), 0, "it timed out: {}", wrong);
    });
    rules.add([&tunables](const AtRest& rest, const Model& model, Verdict& verdict) {
        const Job& job = *rest.job;
        const bool approved = job.causes.of(Asked::approve).accepted;
        verdict.exercised(approved);
        if (job.lost.any()) return;
        verdict.cite("engine/wire/wire.md 8.3");
        verdict.require(!approved || job.in_hash != State::approval_required || job.causes.was_released, 0,
                        "the operator was told that it is approved, and at the end it still waits for an approval");
        if (model.packets_garbled()) return;
        verdict.cite("engine/wire/wire.md 8.2");
        const std::string wrong = spec::unexplained_failure(job, *rest.redis, model, tunables);
        verdict.require(wrong.empty(), 0, "it ended FAILED: {}", wrong);
    });
}

}  // namespace lockstep::sim::rules
