// Looks at all runs that are not over, again and again, for what no message has brought (workflow.md 10): jobs that have ended
// without a result, runs that somebody else has stored or rewritten, what was to be sent by a replica that has died.
//
// 1. Only one replica does it at a time; the lock is kept and never released, as of all ticks.
// 2. Every run has its turn, however many there are: a look goes on where the last one ended.
// 3. It reads without the runs' locks; what it finds is judged anew by the visit.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "engine/config/context.h"
#include "engine/reconcile/ticker.h"
#include "engine/workflow/run_store.h"
#include "engine/workflow/run_visits.h"

namespace lockstep::engine {

class RunReconciler {
public:
    /// All arguments outlive the reconciler.
    RunReconciler(const Context& context, RunStore& store, RunVisits& visits, SweepStore& sweeps, Leases& leases);

    /// Ticks until cancelled.
    [[nodiscard]] Task<void> run();

private:
    [[nodiscard]] Task<void> tick();
    /// The runs of one index, from where the last look ended.
    [[nodiscard]] Task<void> look(std::string index);
    /// Jobs of cancelled runs that are still at work are cancelled again.
    [[nodiscard]] Task<void> cancel_again();

    const Context& context_;
    RunStore& store_;
    RunVisits& visits_;
    Ticker ticker_;
    // Where each look goes on, by index:
    std::map<std::string, std::string> resume_after_;         // behind this score
    std::map<std::string, std::deque<PeekedRun>> left_over_;  // with these first: the last tick ended before their turn
};

}  // namespace lockstep::engine
