#include "engine/workflow/run_reconciler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/runs/job_request.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/workflow/run_keys.h"

namespace lockstep::engine {

RunReconciler::RunReconciler(const Context& context, RunStore& store, RunVisits& visits, SweepStore& sweeps,
                             Leases& leases)
    : context_(context),
      store_(store),
      visits_(visits),
      ticker_(context, sweeps, leases, keys::kRunReconcilerLock, context.tunables.wf_scan_interval) {}

Task<void> RunReconciler::run() {
    while (true) {
        co_await context_.ports.clock.sleep(ticker_.interval());
        co_await tick();
    }
}

Task<void> RunReconciler::tick() {
    const bool mine = co_await ticker_.hold();
    if (!mine) co_return;
    for (const RunStatus status : {RunStatus::pending, RunStatus::running, RunStatus::waiting}) {
        const bool still_mine = co_await ticker_.keep();
        if (!still_mine) co_return;
        co_await look(keys::runs_of_status(to_string(status)));
    }
    co_await look(std::string(keys::kRunsAsked));
    co_await look(std::string(keys::kRunsToSend));
    co_await cancel_again();
    static_cast<void>(co_await store_.forget_runs(ticker_.lock()));
    co_await ticker_.tick_over();
}

Task<void> RunReconciler::look(std::string index) {
    std::deque<PeekedRun> runs = std::exchange(left_over_[index], {});
    if (runs.empty()) {
        auto page = co_await store_.peek(ticker_.lock(), index, resume_after_[index]);
        if (!page.applied()) co_return;
        resume_after_[index] = page.value().last_score;
        std::ranges::move(page.value().runs, std::back_inserter(runs));
    }
    while (!runs.empty()) {
        const bool still_mine = co_await ticker_.keep();
        if (!still_mine) break;
        PeekedRun peeked = std::move(runs.front());
        runs.pop_front();
        context_.ports.log.reached(peeked.ended_jobs.empty() ? "run_visited_by_look" : "job_end_found_by_look");
        // One that cannot be visited now is found by the next look again, and the runs behind it have their turn now.
        static_cast<void>(co_await visits_.visit(peeked.run, std::move(peeked.ended_jobs)));
    }
    left_over_[index] = std::move(runs);
}

Task<void> RunReconciler::cancel_again() {
    const auto jobs = co_await store_.jobs_to_cancel(ticker_.lock());
    if (!jobs.applied()) co_return;
    for (const std::string& job : jobs.value()) {
        cap::JobCancel cancel;
        cancel.set_job_id(job);
        cancel.set_reason("its run has ended");
        cancel.set_requested_by(kWorkflowSender);
        const auto packet = wire::make_packet(std::move(cancel), job, kWorkflowSender, context_.ports.clock.now());
        const auto sent =
            co_await context_.ports.bus.publish_core(std::string(wire::kSubjectCancel), wire::serialise(packet));
        if (!sent.applied()) co_return;
    }
}

}  // namespace lockstep::engine
