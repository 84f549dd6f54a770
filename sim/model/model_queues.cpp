// What the model makes of queues: those of tenants for their slots, and those for room at workers.
#include <algorithm>
#include <utility>

#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kOwnKeys = "lockstep:";

bool is_limit(std::string_view field_of_turns) { return field_of_turns != "look" && field_of_turns != "asked_at"; }

}  // namespace

void Model::look_for_free_slot(Tenant& tenant) {
    const bool is_free = tenant.has_free_slot();
    if (is_free == tenant.free_since.has_value()) return;
    if (is_free) {
        tenant.free_since = clock_.told_at();
        return;
    }
    note(FreeSlotTaken{}, actor_, tenant.waits, clock_.present()).free_since = *tenant.free_since;
    tenant.free_since.reset();
}

void Model::leave_queue(Job& job) {
    if (std::exchange(job.queued_for, QueuedFor::nothing) != QueuedFor::nothing) job.tried = clock_.told_at();
}

void Model::set_waits_for_slot(Job& job, bool waits) {
    if (job.slot.waits != waits) recount(job, [&job, waits] { job.slot.waits = waits; });
}

QueueStep& Model::step() {
    step_.is_empty = false;
    return step_;
}

TenantQueue& Model::touched(Tenant& tenant, fakes::NodeId client) {
    tenant.queue.moved = clock_.told_at();
    tenant.queue.is_unsure |= !in_command_ || !is_scheduler(client);
    return tenant.queue;
}

void Model::begin_step(std::int64_t redis_ms) {
    if (!step_.is_empty) step_ = {};
    step_.redis_ms = redis_ms;
}

void Model::end_step(fakes::NodeId client) {
    if (!step_.is_empty && in_command_ && is_scheduler(client))
        note(QueuesChanged{}, client, nullptr, clock_.present()).step = &step_;
}

void Model::enter_queue(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                        double after) {
    if (!key.starts_with(kOwnKeys)) return;
    if (key == kQueuedTenants) {
        tenant(member).queue.is_listed = true;
        return;
    }
    if (is_place_in_order(key) && before == nullptr) capacity_.place_taken(key);
    if (key == kCapacityWaiting || key.starts_with(kCapacityWaitingOf) || key.starts_with(kCapacityQueue))
        step().placed.push_back({&job(member), after});
    // From there on it waits for a worker, and for no slot of its tenant.
    if (key == kCapacityWaiting) {
        job(member).queued_for = QueuedFor::worker;
        return set_waits_for_slot(job(member), false);
    }
    if (key.starts_with(kCapacityQueue)) return capacity_.queued(key, job(member), clock_.told_at());
    const auto of = tenant_key(key);
    if (!of) return;
    Tenant& entered = tenant(of->tenant);
    TenantQueue& queue = touched(entered, client);
    Job& entering = job(member);
    const Place place{after, entering.name, &entering};
    if (of->part == TenantPart::slots) {
        queue.slots += before == nullptr ? 1 : 0;
    } else if (of->part == TenantPart::woken) {
        queue.woken.insert_or_assign(entering.name, place);
        step().woken.push_back({&entered, &entering});
    } else if (of->part == TenantPart::waiting) {
        if (before != nullptr) queue.waiting.erase({*before, entering.name});
        queue.waiting.insert(place);
        step().queued.push_back({&entered, &entering});
        entering.queued_for = QueuedFor::slot;
        set_waits_for_slot(entering, !is_active(entering.state()));
    }
}

void Model::leave_queues(fakes::NodeId client, std::string_view key, std::string_view member, double before) {
    if (!key.starts_with(kOwnKeys)) return;
    if (key == kQueuedTenants) {
        Tenant& unlisted = tenant(member);
        unlisted.queue.is_listed = false;
        step().unlisted.push_back(&unlisted);
        return;
    }
    if (is_place_in_order(key)) capacity_.places_left(key, 1, {upcoming(), clock_.told_at()});
    if (key == kCapacityWaiting) {
        Job& leaving = job(member);
        if (leaving.queued_for == QueuedFor::worker) leave_queue(leaving);
        return;
    }
    if (key.starts_with(kCapacityQueue)) return capacity_.left(key, member, clock_.told_at());
    const auto of = tenant_key(key);
    if (!of) return;
    Tenant& left = tenant(of->tenant);
    TenantQueue& queue = touched(left, client);
    Job& leaving = job(member);
    if (of->part == TenantPart::slots) {
        --queue.slots;
        if (std::ranges::find(step_.freed, &left) == step_.freed.end()) step().freed.push_back(&left);
    } else if (of->part == TenantPart::woken) {
        queue.woken.erase(leaving.name);
        step().unwoken.insert_or_assign(&leaving, before);
    } else if (of->part == TenantPart::waiting) {
        queue.waiting.erase({before, leaving.name});
        step().left.insert_or_assign(&leaving, before);
        if (leaving.queued_for == QueuedFor::slot) leave_queue(leaving);
    }
}

void Model::write_turns(std::string_view tenant_name, std::string_view field, std::string_view value) {
    if (is_limit(field)) tenant(tenant_name).queue.limits.insert_or_assign(whole_number(field), whole_number(value));
}

void Model::unwrite_turns(std::string_view tenant_name, std::string_view field) {
    if (is_limit(field)) tenant(tenant_name).queue.limits.erase(whole_number(field));
}

/// A field of the hash of a job that says how it waits for a slot, or is tried again.
void Model::write_wait(Job& job, std::string_view field, const std::string* before, std::string_view after) {
    if (field == "ls_waits_since") {
        job.slot.since = whole_number(after);
        if (before == nullptr || before->empty() || *before == after) return;
        step().redated.push_back({&job, whole_number(*before)});
    } else if (field == "ls_waits_limit") {
        job.slot.limit = whole_number(after);
        step().limited.push_back(&job);
    } else {
        job.slot.has_delay = true;
        set_waits_for_slot(job, false);  // it was handled, and came to something else
        delayed_ = &job;
    }
}

void Model::remove_from_queues(std::string_view key, fakes::redis::Removal why, const fakes::redis::Value& last) {
    if (!key.starts_with(kOwnKeys)) return;
    if (is_place_in_order(key))
        capacity_.places_left(key, jobs_listed(last).size(), {clock_.present(), clock_.told_at()});
    // The last member of a set was removed before it; the rest is lost.
    const bool is_lost = why != fakes::redis::Removal::deleted;
    if (key == kQueuedTenants) {
        for (auto& [name, tenant] : tenants_) tenant.queue.is_listed = false;
        tenants_list_unsure_ |= is_lost;
    } else if (key == kCapacityWaiting) {
        for (Job& job : jobs_)
            if (job.queued_for == QueuedFor::worker) leave_queue(job);
    } else if (key.starts_with(kCapacityQueue)) {
        capacity_.queue_removed(key);
    } else if (key.starts_with(kWorkerSlots)) {
        note_list(key, 0);
    } else if (const auto of = tenant_key(key)) {
        TenantQueue& queue = tenant(of->tenant).queue;
        if (of->part == TenantPart::slots) queue.slots = 0;
        if (of->part == TenantPart::waiting)
            for (const Place& place : std::exchange(queue.waiting, {})) {
                // Since Redis lost something, it may have moved to the queue for a worker.
                Job& leaving = job(place.name);
                if (leaving.queued_for == QueuedFor::slot) leave_queue(leaving);
            }
        if (of->part == TenantPart::woken) queue.woken.clear();
        if (of->part == TenantPart::turns) queue.limits.clear();
        queue.is_unsure |= is_lost;
    }
}

/// The list of a worker has so many jobs more; 0: it is gone.
void Model::note_list(std::string_view key, int jobs) {
    const WorkerNumber worker = worker_names_.number_of(key.substr(kWorkerSlots.size()));
    if (jobs == 0)
        capacity_.list_removed(worker);
    else
        capacity_.listed(worker, jobs);
    note(WorkerRoomChanged{}, actor_, nullptr, clock_.present()).worker = worker;
}

void Model::restore_queues(const fakes::redis::Keyspace& now) {
    std::vector<QueuedFor> queued_for(jobs_.size());  // by number - 1
    capacity_.all_places_left({clock_.present(), clock_.told_at()});
    for (const std::string_view key : now.keys()) {
        if (is_place_in_order(key))
            for (std::size_t places = jobs_listed(now.find(key)->value).size(); places > 0; --places)
                capacity_.place_taken(key);
        if (!is_line(key)) continue;
        for (const std::string_view name : jobs_listed(now.find(key)->value)) {
            const NameNumbers::Number number = job_names_.find(name);
            if (number != 0) queued_for[number - 1] = key == kCapacityWaiting ? QueuedFor::worker : QueuedFor::slot;
        }
    }
    for (Job& job : jobs_) {
        if (queued_for[job.number - 1] == QueuedFor::nothing)
            leave_queue(job);
        else
            job.queued_for = queued_for[job.number - 1];
    }
    step_ = {};
    tenants_list_unsure_ = true;
    for (auto& [name, tenant] : tenants_) tenant.queue.is_unsure = true;
    for (Job& job : jobs_) {
        const std::string key = std::string(kJobHashPrefix) + std::string(job.name);
        const auto number = [&](std::string_view field) {
            const auto text = hash_field(now, key, field);
            return text ? std::optional(whole_number(*text)) : std::nullopt;
        };
        recount(job, [&] {
            job.slot.waits = false;
            job.request_damaged |= now.find(std::string(kRequestPrefix) + std::string(job.name)) == nullptr;
        });
        job.capacity_queue =
            label_names_.name_of(label_names_.number_of(hash_field(now, key, "ls_queue").value_or("")));
        job.slot = {number("ls_waits_since").value_or(0), number("ls_waits_limit"),
                    number("ls_next_attempt_at").has_value()};
    }
}

}  // namespace lockstep::sim
