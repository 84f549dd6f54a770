// No job is sent to a worker while policy, when its sender last asked about it, was not shown the input that the job points to, unless
// the job's hash says so (D-09; engine/delivery-semantics.md, "Whose word counts"). A job whose input is not there is tried again three
// times, and no more.
//
// A human's approval asks nothing, a recorded fail-open has had no answer, and about a job its sender may never have asked:
// approval_bound and policy_before_dispatch judge those.
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

namespace {

void sends_what_policy_saw(const Sent& sent, const Model& model, Verdict& verdict) {
    if (sent.input.empty() || sent.says_approved || sent.says_bypassed || sent.asked.event == 0) return;
    verdict.exercised();
    verdict.require(sent.asked.showed_input || sent.job->input_unread, sent.asked.event,
                    "it is sent on worker.{}.jobs, policy was not shown its input at {}, and nothing says so",
                    model.name_of(sent.worker), sent.input);
}

void looks_three_times_more(const InputMissed& missed, const Model&, Verdict& verdict) {
    if (missed.misses <= 0) return;
    verdict.exercised();
    verdict.cite("engine/wire/wire.md 4.1");
    verdict.require(missed.misses <= 3, 0, "its input is not there, and it is tried again for the {}th time",
                    missed.misses);
}

}  // namespace

void content_seen(Rules& rules, const engine::Tunables&) {
    rules.add(sends_what_policy_saw);
    rules.add(looks_three_times_more);
}

}  // namespace lockstep::sim::rules
