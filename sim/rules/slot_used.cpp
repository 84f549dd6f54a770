// A slot of a tenant does not stay free while a job of that tenant waits for one, nor a slot of a worker while a job waits that the worker
// may serve (engine/delivery-semantics.md, "Jobs of a tenant with a limit" and "Jobs that wait for capacity").
//
// 1. While nothing is disturbed, a slot of a tenant is taken within a second and the time of three calls of Redis, which a distant server
//    makes long; after a disturbance, when a wake-up may be lost, once the job was woken again. A job waits from when it is queued, or
//    delayed and nothing else, until it is handled. A slot is free for it while fewer jobs of its tenant are SCHEDULED, DISPATCHED or
//    RUNNING than policy has allowed it last. Time in which a job of the tenant without a slot is being handled does not count: that one
//    may get the slot. A job whose stored request Redis has damaged can use none.
// 2. A job that has a slot is delayed for its tenant's limit only while as many other jobs have one. This is not judged of a tenant of which
//    Redis has lost some job's data.
// 3. A job that waits for room at a worker stands everywhere at its place, whatever has become of it since: by since when it waits.
//    A slot of a worker is used within ten seconds and a tick. Judged whenever a replica hears the worker, and not of tenants with a limit,
//    nor once settings were replaced or Redis has lost data.
// What each command does to the queues of tenants is judged in queues_of_tenants.cpp.
#include "sim/rules/rules.h"
#include "sim/spec/slot_queue.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;
using engine::to_millis;

std::int64_t to_ms(Time time) { return to_millis(time.time_since_epoch()); }

/// How long something may wait, from when nothing was disturbed.
struct LongestWait {
    Time from;
    Duration bound;
    [[nodiscard]] bool is_over(Time now) const { return now - from > bound; }
};

LongestWait wait_allowed(Time from, Duration bound, const Model& model, const engine::Tunables& tunables) {
    const Duration after_trouble = spec::until_used_after_trouble(tunables);
    const auto trouble = model.weather().last_trouble();
    if (trouble) from = std::max(from, *trouble);
    if (trouble && from - *trouble < after_trouble) bound = after_trouble;
    return {from, bound + spec::kCallsOfAWakeUp * model.call_times().longest()};
}

/// 1
void was_taken_in_time(Time free_since, Time now, const Model& model, Verdict& verdict,
                       const engine::Tunables& tunables) {
    verdict.exercised();
    if (model.weather().has_fault()) return;
    const LongestWait wait = wait_allowed(free_since, spec::kUntilWoken, model, tunables);
    verdict.require(!wait.is_over(now), 0,
                    "it waited for a slot of its tenant, and one was free from {} ms on until {} ms", to_ms(wait.from),
                    to_ms(now));
}

/// 2
void may_be_delayed(const Delayed& delayed, const Model& model, Verdict& verdict) {
    const Job& job = *delayed.job;
    if (!is_active(job.state()) || job.tenant_limit <= 0) return;
    const auto has_lost = [&job](const Job& one) { return one.tenant == job.tenant && one.lost.any(); };
    if (std::ranges::any_of(model.jobs(), has_lost)) return;
    verdict.exercised();
    verdict.cite("engine/delivery-semantics.md#jobs-of-a-tenant-with-a-limit, 1");
    const int others = Model::active(*job.tenant, job);
    verdict.require(others >= job.tenant_limit, 0,
                    "it has a slot of its tenant and is delayed for the limit of {}, and {} others have one",
                    job.tenant_limit, others);
}

/// 3
void keep_their_places_for_room(const QueuesChanged& change, const Model&, Verdict& verdict) {
    for (const auto& [job, since] : change.step->placed) {
        if (job->lost.any()) continue;
        verdict.about(job);
        verdict.require(since == static_cast<double>(job->slot.since), 0,
                        "it waits for room at a worker as of {:.0f}, and its record says since {}", since,
                        job->slot.since);
    }
}

/// 3
class WorkersAreUsed {
public:
    explicit WorkersAreUsed(const engine::Tunables& tunables) : tunables_(tunables) {}

    void operator()(const WorkerRoomChanged& change, const Model& model, Verdict& verdict) {
        const Capacity::Worker& worker = model.capacity().worker(change.worker);
        if (change.worker >= free_since_.size()) free_since_.resize(change.worker + 1);
        std::optional<Time>& free_since = free_since_[change.worker];
        if (change.serves_others || !spec::has_free_slot(worker, tunables_)) free_since.reset();
        if (!free_since && spec::has_free_slot(worker, tunables_)) free_since = change.at;
        if (!change.is_heard || !free_since || model.taken_back()) return;
        for (const auto& [key, queue] : model.capacity().queues()) {
            if (queue.jobs.empty() || !spec::may_serve(worker, queue)) continue;
            const auto tenant = model.tenants().find(queue.tenant);
            if (tenant != model.tenants().end() && tenant->second.has_limit) continue;
            const Job& job = *queue.jobs.begin()->second;
            verdict.about(&job);
            verdict.exercised();
            if (model.weather().has_fault() || model.settings_replaced() || job.lost.any()) continue;
            const Time since = std::max(*free_since, queue.unserved_since);
            verdict.cite("engine/delivery-semantics.md#jobs-that-wait-for-capacity, 4");
            const LongestWait wait = wait_allowed(since, spec::kUntilAWorkerIsUsed, model, tunables_);
            verdict.require(!wait.is_over(change.at), 0,
                            "it waits for a worker, and {} has had a free slot from {} ms on until {} ms",
                            model.name_of(change.worker), to_ms(wait.from), to_ms(change.at));
        }
    }

private:
    const engine::Tunables& tunables_;
    std::vector<std::optional<Time>> free_since_;  // by worker
};

}  // namespace

void slot_used(Rules& rules, const engine::Tunables& tunables) {
    rules.add([&tunables](const FreeSlotTaken& taken, const Model& model, Verdict& verdict) {
        was_taken_in_time(taken.free_since, taken.at, model, verdict, tunables);
    });
    rules.add<FreeSlotTaken>([&tunables](const AtRest& rest, const Model& model, Verdict& verdict) {
        const Tenant& tenant = *rest.job->tenant;
        if (tenant.free_since && tenant.waits == rest.job)
            was_taken_in_time(*tenant.free_since, rest.at, model, verdict, tunables);
    });
    rules.add(may_be_delayed);
    rules.add([used = WorkersAreUsed(tunables)](const WorkerRoomChanged& change, const Model& model,
                                                Verdict& verdict) mutable { used(change, model, verdict); });
    rules.add(keep_their_places_for_room);
    queues_of_tenants(rules, tunables);
}

}  // namespace lockstep::sim::rules
