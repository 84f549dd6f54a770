#include "engine/routing/registry.h"

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/wire/heartbeat_bounds.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

constexpr std::string_view kTooMany = "too_many_workers";

/// As the same worker would have said it itself.
wire::ReportedWorker reported(const Worker& worker) {
    std::size_t bytes = worker.id.text().size() + worker.pool.size() + worker.region.size() + worker.type.size();
    for (const std::string& capability : worker.capabilities) bytes += capability.size();
    for (const auto& [name, value] : worker.labels) bytes += name.size() + value.size();
    return {.id = worker.id.text(),
            .active_jobs = worker.active_jobs,
            .max_parallel_jobs = worker.max_parallel_jobs,
            .cpu_load = worker.cpu_load,
            .gpu_utilization = worker.gpu_utilization,
            .memory_load = worker.memory_load,
            .bytes = bytes};
}

}  // namespace

std::string_view Registry::unwelcome(const WorkerId& id, std::string_view unsound) const {
    if (!wire::addressable(id.text())) return "worker_id";
    if (!bounded_) return {};
    if (!unsound.empty()) return unsound;
    return workers_.size() >= kWorkersMax && !workers_.contains(id) ? kTooMany : std::string_view{};
}

std::string_view Registry::on_heartbeat(const cap::Heartbeat& heartbeat, MonoTime now) {
    const WorkerId id(heartbeat.worker_id());
    if (const auto reason = unwelcome(id, wire::unsound(heartbeat)); !reason.empty()) return reason;
    const auto [entry, inserted] = workers_.try_emplace(id);
    Worker& worker = entry->second;
    by_load_.remove(worker);
    worker.id = id;
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
    worker.alive_until = now + ttl_;
    worker.heard = true;
    worker.sent_since_heartbeat = 0;
    worker.ended_since_heartbeat = 0;
    worker.heartbeat_at = now;
    worker.most_in_flight_before = std::exchange(worker.most_in_flight, 0);
    worker.has_heartbeat = true;
    by_load_.add(worker);
    require_room();
    return {};
}

std::string_view Registry::on_handshake(const cap::Handshake& handshake, MonoTime now) {
    if (handshake.role() != cap::COMPONENT_ROLE_WORKER) return {};
    const WorkerId id(handshake.component_id());
    if (const auto reason = unwelcome(id, {}); !reason.empty()) return reason;
    const auto [entry, inserted] = workers_.try_emplace(id);
    Worker& worker = entry->second;
    if (!inserted && !alive(worker, now)) {
        // What its last heartbeat said is as dead as it was, swept away or not.
        by_load_.remove(worker);
        worker = {};
    }
    worker.id = id;
    worker.sdk_version = handshake.sdk_version().substr(0, wire::kWorkerIdMax);
    worker.alive_until = now + ttl_;
    // It tells that the worker lives. What a snapshot has said of its load and its pool stays hearsay.
    worker.heard = worker.heard || !worker.has_heartbeat;
    require_room();
    return {};
}

bool Registry::hydrate(Worker worker, MonoTime alive_until, MonoTime now) {
    if (alive_until < now || !unwelcome(worker.id, wire::unsound(reported(worker))).empty()) return false;
    const auto [entry, inserted] = workers_.try_emplace(worker.id);
    Worker& known = entry->second;
    if (!inserted && known.heard && alive(known, now)) return false;
    by_load_.remove(known);
    known = std::move(worker);
    known.alive_until = alive_until;
    known.has_heartbeat = true;
    known.heartbeat_at = now;
    known.heard = false;
    by_load_.add(known);
    require_room();
    return true;
}

template <class Change>
void Registry::change_load(const WorkerId& worker, Change change) {
    const auto entry = workers_.find(worker);
    if (entry == workers_.end()) return;
    by_load_.remove(entry->second);
    change(entry->second);
    by_load_.add(entry->second);
}

void Registry::note_dispatch(const WorkerId& worker) {
    change_load(worker, [](Worker& known) { ++known.sent_since_heartbeat; });
}

void Registry::forget_dispatch(const WorkerId& worker) {
    change_load(worker,
                [](Worker& known) { known.sent_since_heartbeat = std::max(0, known.sent_since_heartbeat - 1); });
}

void Registry::note_in_flight(const WorkerId& worker, std::int64_t jobs) {
    const auto entry = workers_.find(worker);
    if (entry != workers_.end()) entry->second.most_in_flight = std::max(entry->second.most_in_flight, jobs);
}

void Registry::note_full(const WorkerId& worker, std::int64_t slots) {
    change_load(worker, [slots](Worker& known) {
        const std::int64_t missing = slots - assumed_active(known, true);
        if (missing > 0)
            known.sent_since_heartbeat += static_cast<std::int32_t>(std::min<std::int64_t>(missing, 1'000'000));
    });
}

void Registry::note_end(const WorkerId& worker) {
    change_load(worker, [](Worker& known) { ++known.ended_since_heartbeat; });
}

bool Registry::is_alive(const WorkerId& worker, MonoTime now) const {
    const auto entry = workers_.find(worker);
    return entry != workers_.end() && alive(entry->second, now);
}

const Worker* Registry::find_routable(const WorkerId& worker, MonoTime now) const {
    const auto entry = workers_.find(worker);
    if (entry == workers_.end()) return nullptr;
    const Worker& known = entry->second;
    return known.has_heartbeat && alive(known, now) ? &known : nullptr;
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
        by_load_.remove(entry.second);
        return true;
    });
}

void Registry::require_room() const {
    INVARIANT(!bounded_ || workers_.size() <= kWorkersMax, "{} workers are known, and {} at most should be",
              workers_.size(), kWorkersMax);
}

}  // namespace lockstep::engine
