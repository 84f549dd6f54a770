#include "sim/oracles/worker_slots.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/wire/messages.h"
#include "sim/model/capacity_keys.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kQueuedJobs = "lockstep:capacity:jobs:";

/// A number up to `end`, taken off the front with it; 0 where there is none.
std::size_t take_number(std::string_view& text, char end) {
    std::size_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto length = static_cast<std::size_t>(rest - text.data());
    if (error != std::errc{} || length == text.size() || *rest != end) return 0;
    text.remove_prefix(length + 1);
    return number;
}

std::string take_text(std::string_view& text) {
    const std::size_t length = std::min(take_number(text, ':'), text.size());
    std::string taken(text.substr(0, length));
    text.remove_prefix(length);
    return taken;
}

}  // namespace

/// '<number of pools>;', then each pool and each label's name and value as '<length>:<text>', then '.', then the tenant.
WorkerSlots::Queue WorkerSlots::read_name(std::string_view name) {
    Queue queue;
    for (std::size_t pools = take_number(name, ';'); pools > 0 && !name.empty(); --pools)
        queue.pools.insert(take_text(name));
    while (!name.empty() && name.front() != '.') {
        const std::size_t before = name.size();
        std::string label = take_text(name);
        queue.labels.emplace(std::move(label), take_text(name));
        if (name.size() == before) break;
    }
    if (name.starts_with('.')) queue.tenant = name.substr(1);
    return queue;
}

void WorkerSlots::look_at(Worker& worker, Time now) const {
    const bool free = !worker.busy && static_cast<double>(worker.listed + worker.others) < worker.slots;
    if (!free) worker.free_since.reset();
    if (free && !worker.free_since) worker.free_since = now;
}

bool WorkerSlots::fits(const Worker& worker, const Queue& queue) {
    return queue.pools.contains(worker.pool) && std::ranges::all_of(queue.labels, [&worker](const auto& label) {
               const auto carried = worker.labels.find(label.first);
               return carried != worker.labels.end() && carried->second == label.second;
           });
}

void WorkerSlots::listed(std::string_view key, int by, Time now) {
    if (!key.starts_with(kWorkerSlots)) return;
    Worker& worker = workers_[std::string(key.substr(kWorkerSlots.size()))];
    worker.listed += by;
    look_at(worker, now);
}

void WorkerSlots::waits(std::string_view key, std::string_view job, Time now) {
    if (!key.starts_with(kQueuedJobs)) return;
    const auto [entry, is_new] = queues_.try_emplace(std::string(key));
    if (is_new) entry->second = read_name(key.substr(kQueuedJobs.size()));
    Queue& queue = entry->second;
    if (queue.jobs.empty()) queue.unserved_since = now;
    queue.jobs.emplace(job);
}

void WorkerSlots::waits_no_longer(std::string_view key, std::string_view job, Time now) {
    const auto queue = queues_.find(key);
    if (queue == queues_.end()) return;
    queue->second.unserved_since = now;
    if (const auto found = queue->second.jobs.find(job); found != queue->second.jobs.end())
        queue->second.jobs.erase(found);
}

void WorkerSlots::key_removed(std::string_view key, Time now) {
    if (const auto queue = queues_.find(key); queue != queues_.end()) queues_.erase(queue);
    if (!key.starts_with(kWorkerSlots)) return;
    Worker& worker = workers_[std::string(key.substr(kWorkerSlots.size()))];
    worker.listed = 0;
    look_at(worker, now);
}

std::vector<WorkerSlots::Idle> WorkerSlots::heard(const cap::Heartbeat& heartbeat, Time now,
                                                  const std::function<bool(const std::string& tenant)>& has_limit) {
    Worker& worker = workers_[heartbeat.worker_id()];
    const std::map<std::string, std::string, std::less<>> labels{heartbeat.labels().begin(), heartbeat.labels().end()};
    // Only from then on it may serve these jobs.
    if (worker.pool != heartbeat.pool() || worker.labels != labels) worker.free_since.reset();
    worker.pool = heartbeat.pool();
    worker.labels = labels;
    worker.slots = heartbeat.max_parallel_jobs() * tunables_.overload_utilization;
    worker.busy = heartbeat.cpu_load() >= static_cast<float>(tunables_.overload_cpu) ||
                  heartbeat.gpu_utilization() >= static_cast<float>(tunables_.overload_gpu);
    worker.others = std::max<std::int64_t>(0, heartbeat.active_jobs() - worker.listed);
    look_at(worker, now);
    std::vector<Idle> found;
    if (!worker.free_since || lost_some_) return found;
    for (const auto& [name, queue] : queues_) {
        if (queue.jobs.empty() || !fits(worker, queue) || has_limit(queue.tenant)) continue;
        found.push_back(
            {std::max(*worker.free_since, queue.unserved_since), heartbeat.worker_id(), *queue.jobs.begin()});
    }
    return found;
}

}  // namespace lockstep::sim
