#include "sim/model/capacity_queues.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/wire/messages.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/job.h"

namespace lockstep::sim {

namespace {

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

/// '<number of pools>;', then each pool and each label's name and value as '<length>:<text>', then '.', then the tenant, which is left.
Capacity::Queue read_name(std::string_view& name) {
    Capacity::Queue queue;
    for (std::size_t pools = take_number(name, ';'); pools > 0 && !name.empty(); --pools)
        queue.pools.insert(take_text(name));
    while (!name.empty() && name.front() != '.') {
        const std::size_t before = name.size();
        std::string label = take_text(name);
        queue.labels.emplace(std::move(label), take_text(name));
        if (name.size() == before) break;
    }
    if (name.starts_with('.')) name.remove_prefix(1);
    queue.tenant = name;
    return queue;
}

/// Of the keys that tell places.
std::string_view name_of_queue(std::string_view key) {
    if (key.starts_with(kCapacityTurns)) return key.substr(kCapacityTurns.size());
    std::string_view rest = key.substr(kCapacityQueue.size());
    read_name(rest);
    return key.substr(kCapacityQueue.size(), key.size() - kCapacityQueue.size() - rest.size());
}

}  // namespace

bool Capacity::heard(WorkerNumber number, const cap::Heartbeat& heartbeat) {
    Worker& worker = at(number);
    worker.jobs_max = heartbeat.max_parallel_jobs();
    worker.cpu = heartbeat.cpu_load();
    worker.gpu = heartbeat.gpu_utilization();
    worker.others = std::max<std::int64_t>(0, heartbeat.active_jobs() - worker.listed);
    const auto is_known = [&worker](const auto& label) {
        const auto known = worker.labels.find(label.first);
        return known != worker.labels.end() && known->second == label.second;
    };
    if (worker.pool == heartbeat.pool() && worker.labels.size() == heartbeat.labels().size() &&
        std::ranges::all_of(heartbeat.labels(), is_known))
        return false;
    worker.pool = heartbeat.pool();
    worker.labels = {heartbeat.labels().begin(), heartbeat.labels().end()};
    return true;
}

void Capacity::queued(std::string_view key, const Job& job, Time now) {
    const auto [entry, is_new] = queues_.try_emplace(std::string(key));
    Queue& queue = entry->second;
    if (is_new) {
        std::string_view name = std::string_view(entry->first).substr(kCapacityQueue.size());
        queue = read_name(name);
    }
    if (queue.jobs.empty()) queue.unserved_since = now;
    queue.jobs.emplace(job.name, &job);
}

void Capacity::left(std::string_view key, std::string_view job, Time now) {
    const auto queue = queues_.find(key);
    if (queue == queues_.end()) return;
    queue->second.unserved_since = now;
    queue->second.jobs.erase(job);
}

void Capacity::Places::leave(std::size_t count, Since when) {
    constexpr engine::Duration kAsLongAsATry = std::chrono::minutes{10};
    now -= std::min(count, now);
    left.insert(left.end(), count, when);
    while (!left.empty() && left.front().at < when.at - kAsLongAsATry) left.pop_front();
}

std::size_t Capacity::Places::since(EventNumber event) const {
    const auto later =
        std::partition_point(left.begin(), left.end(), [event](const Since& one) { return one.event < event; });
    return now + static_cast<std::size_t>(left.end() - later);
}

void Capacity::place_taken(std::string_view key) { ++places_[std::string(name_of_queue(key))].now; }

void Capacity::places_left(std::string_view key, std::size_t count, Since now) {
    if (const auto queue = places_.find(name_of_queue(key)); queue != places_.end()) queue->second.leave(count, now);
}

void Capacity::all_places_left(Since now) {
    for (auto& [name, places] : places_) places.leave(places.now, now);
}

std::size_t Capacity::places_since(std::string_view queue, EventNumber event) const {
    std::size_t count = 0;
    for (const auto& [name, places] : places_)
        if (queue.empty() || name == queue) count += places.since(event);
    return count;
}

void Capacity::queue_removed(std::string_view key) {
    if (const auto queue = queues_.find(key); queue != queues_.end()) queues_.erase(queue);
}

}  // namespace lockstep::sim
