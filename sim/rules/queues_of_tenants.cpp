// What each command of a scheduler leaves of the queues of tenants, whatever is disturbed: a part of slot_used
// (engine/delivery-semantics.md, "Jobs of a tenant with a limit").
//
// 1. The command that frees a slot hands it on: afterwards no job is first in the queue for which there is room, and none that was woken
//    more than ten seconds ago keeps a slot in reserve.
// 2. Jobs are woken in the order of the queue, and no more than there is room for. A tick may wake one without room, to ask policy again. A
//    job that has to wait again gets its old place; only one that was woken and not acquired within ten seconds goes to the end.
// 3. No delay of an earlier try holds a queued job up.
// 4. A tenant is listed for the ticks while a job of it is queued or woken. Where nothing moves, a tick wakes the first of the queue.
//
// A queue that lost something, or that another process changed, is not judged; nor is what counts time, once a clock was set.
#include "sim/rules/rules.h"
#include "sim/spec/slot_queue.h"

namespace lockstep::sim::rules {

namespace {

/// 1
void is_handed_on(const Tenant& tenant, const QueueStep& step, const Model& model, Verdict& verdict) {
    const TenantQueue& queue = tenant.queue;
    verdict.cite("engine/delivery-semantics.md#jobs-of-a-tenant-with-a-limit, 1");
    for (const auto& [name, woken] : queue.woken) {
        if (queue.woken.size() > spec::kLookedAtOnce || model.clocks_jumped() || !spec::is_queued(*woken.job)) continue;
        verdict.about(woken.job);
        verdict.require(!spec::is_reserve_over(woken.since, step), 0,
                        "it was woken for a slot of tenant {} {:.0f} ms ago and is not acquired, and a slot that is "
                        "freed is not handed on",
                        tenant.name, spec::woken_for(woken.since, step));
    }
    const Job* left_out = spec::left_out(queue, step);
    verdict.about(left_out);
    if (left_out != nullptr)
        verdict.require(false, 0,
                        "a slot of tenant {} is freed, {} of {} are taken or reserved, and it is queued and not woken",
                        tenant.name, queue.taken(), spec::limit_of(queue, *left_out));
}

/// 2
void are_woken_in_order(const QueueStep& step, Verdict& verdict) {
    verdict.cite("engine/delivery-semantics.md#jobs-of-a-tenant-with-a-limit");
    for (const auto& [tenant, job] : step.woken) {
        const Job* before = tenant->queue.is_unsure ? nullptr : spec::passed_over(tenant->queue, step, *job);
        verdict.about(job);
        verdict.require(before == nullptr, 0, "it is woken from its tenant's queue, and {} is queued before it",
                        before == nullptr ? std::string_view{} : before->name);
    }
    for (const auto& [tenant, job] : step.woken) {
        const spec::Woken woken = spec::woken_by(step, *tenant);
        if (tenant->queue.is_unsure || woken.last != job || woken.jobs < 2 || woken.allowed == 0) continue;
        verdict.about(job);
        verdict.require(tenant->queue.taken() <= woken.allowed, 0,
                        "{} are woken from the queue of tenant {}, and {} have a slot or one in reserve where {} may",
                        woken.jobs, tenant->name, tenant->queue.taken(), woken.allowed);
    }
}

/// 2 and 3
void keep_their_places(const QueueStep& step, const Model& model, Verdict& verdict) {
    verdict.cite("engine/delivery-semantics.md#jobs-of-a-tenant-with-a-limit");
    for (const auto& [tenant, job] : step.queued) {
        if (tenant->queue.is_unsure || model.clocks_jumped()) continue;
        verdict.about(job);
        verdict.require(!spec::has_lost_its_place(tenant->queue, step, *job), 0,
                        "it has waited in its tenant's queue since {}, and is put behind jobs that have come later",
                        job->slot.since);
        verdict.require(!spec::has_kept_its_place(tenant->queue, step, *job), 0,
                        "it was woken and not acquired in time, and is queued before others again");
    }
    for (const Job* job : step.limited) {
        verdict.about(job);
        verdict.require(job->slot.since == 0 || !job->slot.has_delay, 0,
                        "it comes into its tenant's queue with the delay of an earlier try, and would wait for that "
                        "when it is woken");
    }
}

/// 4
void is_listed(const Tenant& tenant, const Model& model, Verdict& verdict) {
    const TenantQueue& queue = tenant.queue;
    if (queue.is_unsure || model.tenants_list_unsure()) return;
    verdict.about(nullptr);
    verdict.require(queue.is_listed || queue.is_empty(), 0,
                    "tenant {} is removed from the tenants with a queue, and {} of its jobs are queued, and {} woken",
                    tenant.name, queue.waiting.size(), queue.woken.size());
}

/// 4
void ticks_wake(const QueuesChanged& change, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const engine::Duration longest = spec::until_a_tick_wakes(tunables);
    const Weather& weather = model.weather();
    if (model.clocks_jumped() || weather.has_fault() || change.at - weather.settled_since() <= longest) return;
    verdict.cite("engine/delivery-semantics.md#jobs-of-a-tenant-with-a-limit, 3");
    for (const auto& [name, tenant] : model.tenants()) {
        const TenantQueue& queue = tenant.queue;
        if (queue.is_unsure || queue.is_empty()) continue;
        const Job& first = queue.waiting.empty() ? *queue.woken.begin()->second.job : *queue.waiting.begin()->job;
        verdict.about(&first);
        verdict.require(change.at - queue.moved <= longest || !spec::is_queued(first), 0,
                        "nothing has moved in the queue of tenant {} for {} ms, and no tick has woken it", name,
                        engine::to_millis(change.at - queue.moved));
    }
}

void on_queues(const QueuesChanged& change, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const QueueStep& step = *change.step;
    for (const auto& [job, before] : step.redated) {
        verdict.about(job);
        verdict.require(false, 0, "it has waited in its tenant's queue since {}, and is queued as of {}", before,
                        job->slot.since);
    }
    for (const Tenant* tenant : step.freed) {
        if (tenant->queue.is_unsure) continue;
        verdict.exercised(!tenant->queue.is_empty());
        is_handed_on(*tenant, step, model, verdict);
    }
    are_woken_in_order(step, verdict);
    keep_their_places(step, model, verdict);
    for (const Tenant* tenant : step.unlisted) is_listed(*tenant, model, verdict);
    if (step.ticks) ticks_wake(change, model, verdict, tunables);
}

}  // namespace

void queues_of_tenants(Rules& rules, const engine::Tunables& tunables) {
    rules.add([&tunables](const QueuesChanged& change, const Model& model, Verdict& verdict) {
        on_queues(change, model, verdict, tunables);
    });
}

}  // namespace lockstep::sim::rules
