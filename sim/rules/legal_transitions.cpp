// Every state that is written to the hash of a job may follow the one that its writer found: in the hash, or, where the hash is lost,
// under the state key.
#include "sim/rules/rules.h"
#include "sim/spec/transitions.h"

namespace lockstep::sim::rules {

namespace {

void follows(const StateChanged& change, const Model&, Verdict& verdict) {
    verdict.exercised();
    const bool may = spec::may_follow(change.in_hash, change.to) || spec::may_follow(change.from, change.to);
    verdict.require(may, change.last_change, "it went from {} to {}",
                    change.from == State::absent ? "nothing" : to_string(change.from), to_string(change.to));
}

}  // namespace

void legal_transitions(Rules& rules, const engine::Tunables&) { rules.add(follows); }

}  // namespace lockstep::sim::rules
