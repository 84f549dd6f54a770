// The worker of a job that ends by timeout or cancel is told to leave off, and the worker of no other job is
// (engine/delivery-semantics.md, "To a worker", 4; wire.md 2.2, 8.4 and 9.2).
//
// 1. A scheduler that ends a job TIMEOUT which was DISPATCHED or RUNNING publishes a JobCancel on sys.job.cancel soon after,
//    unless `cancel_on_timeout` is off.
// 2. Where a job has been CANCELLED or has timed out before the sender of its dispatch knows that the stream has it, and the
//    dispatch reaches a worker all the same, what was published before was too early for that worker: the sender publishes a
//    JobCancel after it. What is published once the dispatch is stored comes to its worker behind it, however long that one is frozen.
// 3. A scheduler publishes a JobCancel about jobs only that are CANCELLED or TIMEOUT.
// 4. A scheduler that hears what another node publishes about a job that Redis knows and that has not ended ends it, however
//    many such words come together, and whatever was heard about the job before it was known.
//
// A cancellation is a core message, at most once: it counts when it is published, by any node; that all hear it is the server's
// business. It is owed while the scheduler that owes it, Redis and NATS are undisturbed, if slow: it is kept for later nowhere. A
// worker that has itself reported the end needs no word.
#include <algorithm>
#include <map>
#include <memory>

#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/calling_off.h"

namespace lockstep::sim::rules {

namespace {

struct Owed {
    std::string_view why;
    Time since{};  // what was published before is too early
    Time calm_since{};
};

void owe(const Observed& by, const Owed& owed, const engine::Tunables& tunables, Verdict& told) {
    told.exercised();
    const engine::Duration soon = spec::until_called_off(tunables);
    told.expect_by(by.at + soon, [=, begun = by.job->calling_off.begun](const Model& model, Verdict& verdict) {
        const CallingOff& now = by.job->calling_off;
        if (now.begun != begun || now.worker_ended_it || now.told >= owed.since) return;
        verdict.require(!model.weather().clear_but_slow_for(by.node, owed.calm_since), by.event,
                        "{}, and {} ms later no cancellation has been published for its worker, though nothing has "
                        "disturbed the replica, Redis or NATS",
                        owed.why, engine::to_millis(soon));
    });
}

}  // namespace

void cancel_told(Rules& rules, const engine::Tunables& tunables) {
    rules.add<NodeChanged>([&tunables](const StateChanged& change, const Model&, Verdict& verdict) {
        if (change.to != State::timeout || !is_out(change.in_hash) || by_user(change.node)) return;
        if (change.job->calling_off.worker_ended_it || !tunables.cancel_on_timeout) return;
        // A call that its replica has given up meanwhile may still have ended the job, unknown to it.
        owe(change, {"it timed out", change.at, change.at - 2 * tunables.store_op_timeout}, tunables, verdict);
    });
    rules.add([&tunables](const SentTooLate& sent, const Model&, Verdict& verdict) {
        const CallingOff& known = sent.job->calling_off;
        owe(sent, {"it reached a worker after it had ended", std::min(known.stored, known.too_late), known.sent},
            tunables, verdict);
    });
    rules.add([](const CalledOff& told, const Model&, Verdict& verdict) {
        const CallingOff& known = told.job->calling_off;
        verdict.exercised();
        verdict.require(known.state == State::absent || known.is_over(), 0,
                        "its worker is told to leave off, and it is {}", to_string(known.state));
    });
    const auto in_hand = std::make_shared<std::map<fakes::NodeId, std::size_t>>();
    rules.add([&tunables, in_hand](const AskedToCancel& asked, const Model&, Verdict& told) {
        told.exercised();
        const auto judge = [in_hand, about = Observed(asked), begun = asked.job->calling_off.begun](const Model& model,
                                                                                                    Verdict& verdict) {
            --(*in_hand)[about.node];
            const CallingOff& now = about.job->calling_off;
            if (now.begun != begun || is_final(now.state) || model.weather().refused(about.node, about.at)) return;
            verdict.cite("engine/wire/wire.md 9.2");
            verdict.require(!model.weather().clear_but_slow_for(about.node, about.at), about.event,
                            "a scheduler has heard that it is to be cancelled, and it is still {}, though nothing has "
                            "disturbed the replica, Redis or NATS",
                            to_string(now.state));
        };
        told.expect_by(asked.at + spec::until_cancelled((*in_hand)[asked.node]++, tunables), judge);
    });
}

}  // namespace lockstep::sim::rules
