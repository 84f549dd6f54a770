#include "engine/routing/registry.h"

#include <algorithm>

#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

/// Whether worker.<id>.jobs is one subject of the jobs stream: a job sent to any other would reach nobody.
bool addressable(std::string_view id) {
    return !id.empty() && id.find_first_of(" .*>\t\r\n") == std::string_view::npos;
}

}  // namespace

void Registry::on_heartbeat(const cap::Heartbeat& heartbeat, MonoTime now) {
    if (!addressable(heartbeat.worker_id())) return;
    const auto [entry, inserted] = workers_.try_emplace(heartbeat.worker_id());
    Worker& worker = entry->second;
    if (!inserted && worker.pool != heartbeat.pool()) leave_pool(worker);
    worker.id = heartbeat.worker_id();
    worker.pool = heartbeat.pool();
    worker.region = heartbeat.region();
    worker.type = heartbeat.type();
    worker.active_jobs = heartbeat.active_jobs();
    worker.max_parallel_jobs = heartbeat.max_parallel_jobs();
    worker.cpu_load = heartbeat.cpu_load();
    worker.gpu_utilization = heartbeat.gpu_utilization();
    worker.memory_load = heartbeat.memory_load();
    worker.capabilities.assign(heartbeat.capabilities().begin(), heartbeat.capabilities().end());
    worker.labels.clear();
    worker.labels.insert(heartbeat.labels().begin(), heartbeat.labels().end());
    note_heard(worker, now);
    worker.sent_since_heartbeat = 0;
    worker.ended_since_heartbeat = 0;
    worker.has_heartbeat = true;
    pools_[worker.pool].try_emplace(entry->first, &worker);
}

void Registry::on_handshake(const cap::Handshake& handshake, MonoTime now) {
    if (handshake.role() != cap::COMPONENT_ROLE_WORKER || handshake.component_id().empty()) return;
    const auto [entry, inserted] = workers_.try_emplace(handshake.component_id());
    Worker& worker = entry->second;
    if (!inserted && !alive(worker, now)) {
        // What its last heartbeat said is as dead as it was, swept away or not.
        leave_pool(worker);
        worker = {};
    }
    worker.id = handshake.component_id();
    worker.sdk_version = handshake.sdk_version();
    note_heard(worker, now);
}

bool Registry::hydrate(Worker worker, MonoTime alive_until, MonoTime now) {
    if (!addressable(worker.id) || alive_until < now) return false;
    const auto [entry, inserted] = workers_.try_emplace(worker.id);
    Worker& known = entry->second;
    if (!inserted && known.heard && alive(known, now)) return false;
    if (!inserted) leave_pool(known);
    known = std::move(worker);
    known.alive_until = alive_until;
    known.has_heartbeat = true;
    known.heard = false;
    pools_[known.pool].try_emplace(entry->first, &known);
    return true;
}

void Registry::note_dispatch(std::string_view worker_id) {
    const auto entry = workers_.find(worker_id);
    if (entry != workers_.end()) ++entry->second.sent_since_heartbeat;
}

void Registry::forget_dispatch(std::string_view worker_id) {
    const auto entry = workers_.find(worker_id);
    if (entry == workers_.end()) return;
    entry->second.sent_since_heartbeat = std::max(0, entry->second.sent_since_heartbeat - 1);
}

void Registry::note_end(std::string_view worker_id) {
    const auto entry = workers_.find(worker_id);
    if (entry != workers_.end()) ++entry->second.ended_since_heartbeat;
}

bool Registry::is_alive(std::string_view worker_id, MonoTime now) const {
    const auto entry = workers_.find(worker_id);
    return entry != workers_.end() && alive(entry->second, now);
}

const Worker* Registry::find_routable(std::string_view worker_id, MonoTime now) const {
    const auto entry = workers_.find(worker_id);
    if (entry == workers_.end()) return nullptr;
    const Worker& worker = entry->second;
    return worker.has_heartbeat && alive(worker, now) ? &worker : nullptr;
}

RegistryStatistics Registry::statistics(MonoTime now) const {
    RegistryStatistics statistics;
    for (const auto& [id, worker] : workers_) {
        if (!worker.has_heartbeat || !alive(worker, now)) continue;
        ++statistics.workers;
        ++statistics.by_pool[worker.pool.empty() ? "(none)" : worker.pool];
    }
    return statistics;
}

void Registry::sweep(MonoTime now) {
    std::erase_if(workers_, [&](const auto& entry) {
        if (alive(entry.second, now)) return false;
        leave_pool(entry.second);
        return true;
    });
}

void Registry::note_heard(Worker& worker, MonoTime now) const {
    worker.alive_until = now + ttl_;
    worker.heard = true;
}

void Registry::leave_pool(const Worker& worker) {
    const auto members = pools_.find(worker.pool);
    if (members == pools_.end()) return;
    members->second.erase(worker.id);
    if (members->second.empty()) pools_.erase(members);
}

}  // namespace lockstep::engine
