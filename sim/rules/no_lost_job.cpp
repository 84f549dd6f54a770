// Every valid submission that JetStream acknowledged is, at the end, terminal or waiting for an approval. One whose packet was garbled
// on its way to the stream is valid no more, when nothing could read it as this job's or it fails the checks on packets
// (engine/wire/validation.h). Nor is one whose records Redis has lost, or whose record has run out after its end or while a result of it
// stood in the stream, or that only a NATS knew that lost its power, or whose leader changed before any tick had noted which server leads
// (engine/delivery-semantics.md).
#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

namespace {

std::string_view waits_for(State state) {
    switch (state) {
        case State::absent: return "it is not known to Redis: its submission was never taken up";
        case State::pending: return "it is PENDING: it waits for a scheduler to take it up, for policy or for a worker";
        case State::scheduled: return "it is SCHEDULED: it waits for its next dispatch";
        case State::dispatched: return "it is DISPATCHED: it waits for a result or for the reconciler";
        case State::running: return "it is RUNNING: it waits for a result or for the reconciler";
        default: return "it is in an unknown state";
    }
}

}  // namespace

void no_lost_job(Rules& rules, const engine::Tunables&) {
    rules.add([](const SubmitAcknowledged&, const Model&, Verdict& verdict) { verdict.exercised(); });
    rules.add([](const AtRest& rest, const Model&, Verdict& verdict) {
        const Submission& submission = rest.job->submission;
        if (submission.acknowledged == 0 || rest.job->lost.any()) return;
        const State state = state_of(job_state(*rest.redis, rest.job->name));
        const bool may_be_gone = submission.outlived || submission.garbled || submission.cut_off;
        verdict.require(is_final(state) || state == State::approval_required || (state == State::absent && may_be_gone),
                        submission.acknowledged, "its submission was acknowledged, and at the end {}",
                        waits_for(state));
    });
}

}  // namespace lockstep::sim::rules
