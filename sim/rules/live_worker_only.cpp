// A job is sent only to a worker that the sending replica takes for alive when it last looks: when it has the reply to the commit that
// makes the job DISPATCHED. What it sleeps through until the publish it cannot know. Sending the same dispatch once more is no new choice.
#include "sim/rules/rules.h"

#include <algorithm>

#include "sim/spec/worker_life.h"

namespace lockstep::sim::rules {

void live_worker_only(Rules& rules, const engine::Tunables& tunables) {
    const auto is_silent = [&tunables](const Liveness& worker, Time when) {
        const Since until = spec::alive_until(worker, tunables);
        return until.event != 0 && until.at < when;
    };
    // A choice could have fallen on a silent worker.
    rules.add([is_silent](const DispatchCommitted& commit, const Model& model, Verdict& verdict) {
        const Liveness* chosen = model.liveness(commit.node, commit.job->dispatch.worker);
        verdict.exercised(chosen != nullptr && is_silent(*chosen, commit.at));
    });
    rules.add([](const HeartbeatOutOfBounds&, const Model&, Verdict& verdict) { verdict.exercised(); });
    rules.add([is_silent, &tunables](const Sent& sent, const Model& model, Verdict& verdict) {
        if (!sent.is_commits) return;
        const Time looked = sent.committed_at;
        verdict.exercised(std::ranges::any_of(model.workers_of(sent.node),
                                              [&](const Liveness& known) { return is_silent(known, looked); }));
        const Liveness* worker = model.liveness(sent.node, sent.worker);
        const Since until = worker == nullptr ? Since{} : spec::alive_until(*worker, tunables);
        verdict.require(worker != nullptr, 0,
                        "it is published on worker.{}.jobs by a replica that has never heard of that worker",
                        model.name_of(sent.worker));
        verdict.require(worker == nullptr || until.at >= looked, until.event,
                        "it is published on worker.{}.jobs by a replica to which that worker was dead for {} ms",
                        model.name_of(sent.worker), engine::to_millis(looked - until.at));
    });
}

}  // namespace lockstep::sim::rules
