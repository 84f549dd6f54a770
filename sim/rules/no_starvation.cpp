// A tenant that has only a few jobs waiting gets its turns, whatever the others submit (engine/delivery-semantics.md, "To a submitter").
//
// While nothing is disturbed, each of its waiting jobs is tried, and tried again, within the longest documented delay, or the time after
// which the replayer looks for jobs without a message, whichever is longer. After a disturbance that time counts from its end, and the
// replica that looks may have to be replaced first.
//
// A try is a call for the job's lock; whether it succeeds depends on limits and free workers. A tenant with many waiting jobs may have to
// wait for itself, and is not judged. Nor is a job that is queued for a slot of its tenant or of a worker: how long it waits there is for
// slot_used. One whose stored request is damaged or lost cannot be tried, and is given up in the end (job_history). One whose place in an
// index is gone is not found by a search, and waits for its message.
#include "sim/rules/rules.h"
#include "sim/spec/dispatch_times.h"

namespace lockstep::sim::rules {

namespace {

void is_tried_in_time(const WaitingJobTried& tried, const Model& model, Verdict& verdict,
                      const engine::Tunables& tunables) {
    const Job& job = *tried.job;
    const Weather& weather = model.weather();
    if (job.is_torn || job.request_damaged || job.queued_for != QueuedFor::nothing || weather.has_fault()) return;
    const Time settled = weather.settled_since();
    const Time since = std::max(tried.before, settled);
    if (job.tenant->is_crowded() || job.tenant->crowded_until >= since) return;
    verdict.exercised();
    const engine::Duration until_replaced = 2 * tunables.replayer_interval;
    const engine::Duration longest =
        spec::between_tries_at_most(tunables) + (settled < tried.before ? engine::Duration{} : until_replaced);
    verdict.require(tried.at - since <= longest, 0,
                    "tenant {} had {} jobs waiting, and this one was not tried from {} ms on until {} ms",
                    job.tenant->name, job.tenant->to_be_tried, engine::to_millis(since.time_since_epoch()),
                    engine::to_millis(tried.at.time_since_epoch()));
}

}  // namespace

void no_starvation(Rules& rules, const engine::Tunables& tunables) {
    rules.add([&tunables](const WaitingJobTried& tried, const Model& model, Verdict& verdict) {
        is_tried_in_time(tried, model, verdict, tunables);
    });
}

}  // namespace lockstep::sim::rules
