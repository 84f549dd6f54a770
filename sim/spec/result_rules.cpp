#include "sim/spec/result_rules.h"

#include <algorithm>

namespace lockstep::sim::spec {

namespace {

/// A success whose output is quarantined is still that success.
bool brings(State asked, State state) {
    return asked == state || (asked == State::succeeded && state == State::output_quarantined);
}

/// How many results about one job a replica handles at once, whatever else it has in flight (engine/delivery-semantics.md, "Many
/// messages about one job, and many cancellations"). One that came beside as many others may have waited for its place.
std::size_t handled_at_once(const engine::Tunables& tunables) { return tunables.max_in_flight >= 64 ? 8 : 1; }

/// Since when every replica can know that the result is in flight; event 0: it cannot.
Since known_since(const WorkerResults::Stored& result, const engine::Tunables& tunables) {
    if (result.noted.event != 0) return result.noted;
    const auto busy = std::ranges::find_if(result.requeues, [&](const WorkerResults::Requeue& requeue) {
        return requeue.delay == tunables.retry_delay_busy && requeue.while_out &&
               requeue.beside < handled_at_once(tunables);
    });
    return busy == result.requeues.end() ? Since{} : busy->since;
}

}  // namespace

bool is_from_its_worker(const Dispatch& dispatch, WorkerNumber worker, const engine::Tunables& tunables) {
    return dispatch.worker == 0 || dispatch.worker == worker || tunables.results_from_any_worker;
}

bool may_end(const Dispatch& dispatch, WorkerNumber worker, const engine::Tunables& tunables) {
    return dispatch.out && worker != 0 && is_from_its_worker(dispatch, worker, tunables);
}

Overtaken overtaken(const Job& job, const Dispatch& dispatch, fakes::NodeId replica, State state, Time now,
                    const engine::Tunables& tunables) {
    const std::vector<WorkerResults::Stored>& results = job.results.unsettled();
    const auto counts = [&](const WorkerResults::Stored& result) {
        return is_from_its_worker(dispatch, result.worker, tunables);
    };
    const auto counted = std::ranges::find_if(results, [&](const WorkerResults::Stored& result) {
        return counts(result) && brings(result.asks_for, state) && job.results.in_flight(replica, result.sequence);
    });
    if (counted == results.end()) return {};
    // The ack wait is by the clock of Redis, and clocks of a cluster may go a little differently.
    const engine::Duration surely = tunables.bus_ack_wait - tunables.bus_ack_wait / 8;
    for (const WorkerResults::Stored& result : results) {
        if (result.sequence >= counted->sequence) break;
        const Since known = known_since(result, tunables);
        if (known.event != 0 && counts(result) && !brings(result.asks_for, state) && known.event < job.lock.taken &&
            now - known.at < surely)
            return {result.sequence, counted->sequence, known};
    }
    return {};
}

}  // namespace lockstep::sim::spec
