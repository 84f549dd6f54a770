// A replica that could not read the state of a job sends it to no worker before it has read the state.
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

namespace {

void could_not_read(const StateUnread&, const Model&, Verdict& verdict) { verdict.exercised(); }

void sends_what_it_has_read(const Sent& sent, const Model& model, Verdict& verdict) {
    verdict.require(sent.state_unread == 0, sent.state_unread,
                    "it is published on worker.{}.jobs, and its state could not be read before that",
                    model.name_of(sent.worker));
}

}  // namespace

void fail_closed(Rules& rules, const engine::Tunables&) {
    rules.add(could_not_read);
    rules.add(sends_what_it_has_read);
}

}  // namespace lockstep::sim::rules
