// Whether what is refused is counted under its reason (engine/delivery-semantics.md, "Whose word counts"). Part of metrics_true.
#include <optional>
#include <vector>

#include "sim/rules/metric_ledger.h"

namespace lockstep::sim::rules {

namespace {

constexpr std::string_view kStranger = "unknown_job";
constexpr std::string_view kKnownWorker = "unknown_job_known_worker";
using Reasons = std::vector<std::string_view>;

/// Whether the worker is alive to the replica; nothing: it cannot be told.
std::optional<bool> is_alive(const Observed& handled, WorkerNumber worker, const Model& model,
                             const engine::Tunables& tunables) {
    const Liveness* known = model.liveness(handled.node, worker);
    if (worker == 0) return std::nullopt;
    if (known == nullptr || (known->heard.event == 0 && known->named.event == 0)) return false;
    if (known->heard.event != 0 && known->heard.at + tunables.worker_ttl / 2 > handled.at) return true;
    return std::nullopt;
}

/// Why a result of this worker about the job is refused. Empty: it is not; several: which of them cannot be told.
Reasons reasons_to_refuse(const Observed& handled, WorkerNumber worker, const Model& model,
                          const engine::Tunables& tunables) {
    const Job& job = *handled.job;
    const State state = job.state();
    if (state == State::absent) {
        const std::optional<bool> alive = is_alive(handled, worker, model, tunables);
        if (!alive) return {kStranger, kKnownWorker};
        return {*alive ? kKnownWorker : kStranger};
    }
    if (is_final(state)) return {};
    if (!is_out(state)) return {"not_dispatched"};
    const bool is_believed =
        job.dispatch.worker == 0 || job.dispatch.worker == worker || tunables.results_from_any_worker;
    return is_believed ? Reasons{} : Reasons{"other_worker"};
}

/// Its lock is taken for one of its results, maybe: of a message, or as it stands in the stream.
void results_may_be_refused(const LockGranted& granted, MetricLedger& metrics, const Model& model,
                            const engine::Tunables& tunables) {
    for (const WorkerNumber sent_by : granted.job->results.senders()) {
        // What was delivered may have named another one.
        const WorkerNumber worker = model.packets_garbled() ? 0 : sent_by;
        for (const std::string_view reason : reasons_to_refuse(granted, worker, model, tunables))
            metrics.may_count(granted.node, kResultsRefused, {reason});
    }
}

void result_was_refused(const ResultSettled& settled, MetricLedger& metrics, const Model& model, Verdict& verdict,
                        const engine::Tunables& tunables) {
    const Job& job = *settled.job;
    const bool was_handled_before = settled.processed != 0 && settled.processed != settled.delivered;
    const bool has_changed = job.changed >= settled.delivered || job.dispatch.since >= settled.delivered;
    const bool is_unclear = settled.worker == 0 || job.listings.has_expired || model.packets_garbled();
    if (is_unclear || was_handled_before || has_changed) return;
    const Reasons why = reasons_to_refuse(settled, settled.worker, model, tunables);
    if (why.size() == 1) metrics.was_counted(settled, kResultsRefused, {why.front()}, model, verdict);
}

}  // namespace

void refusals_are_counted(Rules& rules, const std::shared_ptr<MetricLedger>& metrics,
                          const engine::Tunables& tunables) {
    rules.add<MetricTold>([metrics, &tunables](const LockGranted& granted, const Model& model, Verdict&) {
        if (!granted.is_renewed && granted.job != nullptr && is_job_lock(granted.key))
            results_may_be_refused(granted, *metrics, model, tunables);
    });
    rules.add([metrics, &tunables](const ResultSettled& settled, const Model& model, Verdict& verdict) {
        result_was_refused(settled, *metrics, model, verdict, tunables);
    });
    rules.add([metrics](const HeartbeatOutOfBounds& refused, const Model&, Verdict&) {
        metrics->is_counted(refused, kHeartbeatsRefused, {refused.reason});
    });
}

}  // namespace lockstep::sim::rules
