#include "engine/routing/pick.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <vector>

#include "engine/wire/messages.h"
#include "engine/wire/text.h"

namespace lockstep::engine {

namespace {

using Labels = google::protobuf::Map<std::string, std::string>;

std::string label_of(const Labels& labels, const std::string& key) {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string{} : found->second;
}

/// Does the worker carry every label that constrains placement?
bool placement_matches(const Labels& wanted, const Worker& worker) {
    return std::ranges::all_of(wanted, [&worker](const auto& label) {
        if (!constrains_placement(label.first)) return true;
        const auto carried = worker.labels.find(label.first);
        return carried != worker.labels.end() && carried->second == label.second;
    });
}

/// The labels that constrain placement, as a person reads them: "placement.zone=eu and node.disk=ssd".
std::string placement_labels(const Labels& wanted) {
    std::vector<std::string> named;
    for (const auto& [key, value] : wanted) {
        if (constrains_placement(key)) named.push_back(fmt::format("{}={}", key, value));
    }
    std::ranges::sort(named);
    return fmt::format("{}", fmt::join(named, " and "));
}

/// Workers of the eligible pools, by what keeps the job from them.
struct Passed {
    std::size_t live = 0;
    std::size_t fit = 0;  // of these: they carry the labels that the job wants
};

/// Says which of the things that can be wrong is wrong.
NoPick nobody(const Passed& passed, const Labels& wanted) {
    if (passed.live == 0) return {DispatchReason::no_workers, "no live worker in the eligible pools"};
    const std::string labels = placement_labels(wanted);
    if (passed.fit == 0) {
        std::string detail =
            passed.live == 1
                ? fmt::format("the one live worker of the eligible pools does not carry {}", labels)
                : fmt::format("none of the {} live workers of the eligible pools carries {}", passed.live, labels);
        return {DispatchReason::no_workers, std::move(detail)};
    }
    const std::string whose = labels.empty() ? "" : fmt::format(" that carries {}", labels);
    std::string detail = passed.fit == 1
                             ? fmt::format("the one live worker{} is overloaded", whose)
                             : fmt::format("each of the {} live workers{} is overloaded", passed.fit, whose);
    return {DispatchReason::pool_overloaded, std::move(detail)};
}

bool offers(const RoutingTable& table, const std::string& pool_name, const cap::JobMetadata& meta) {
    const auto pool = table.pools.find(pool_name);
    return std::ranges::all_of(meta.requires_(), [&](const std::string& item) {
        const std::string wanted = wire::ascii_lower(wire::trim(item));
        if (wanted.empty()) return true;
        return pool != table.pools.end() &&
               std::ranges::find(pool->second.requires_, wanted) != pool->second.requires_.end();
    });
}

NoPick no_pool(std::string detail) { return {DispatchReason::no_pool_mapping, std::move(detail)}; }

tl::expected<std::vector<std::string>, NoPick> eligible_pools(const cap::JobRequest& request,
                                                              const RoutingTable& table) {
    const auto topic = table.topics.find(request.topic());
    if (topic == table.topics.end())
        return tl::unexpected(no_pool(fmt::format("no pool for topic {}", request.topic())));
    std::vector<std::string> pools = topic->second;
    if (const std::string preferred = label_of(request.labels(), "preferred_pool"); !preferred.empty()) {
        std::erase_if(pools, [&preferred](const std::string& name) { return name != preferred; });
        if (pools.empty())
            return tl::unexpected(
                no_pool(fmt::format("preferred pool {} does not serve topic {}", preferred, request.topic())));
    }
    std::erase_if(pools, [&](const std::string& name) { return !offers(table, name, request.meta()); });
    if (pools.empty())
        return tl::unexpected(
            no_pool(fmt::format("no pool of topic {} offers what the job requires", request.topic())));
    return pools;
}

const Worker* preferred_worker(const cap::JobRequest& request, const std::vector<std::string>& pools,
                               const Registry& registry, const Tunables& tunables, MonoTime now) {
    const WorkerId id(label_of(request.labels(), "preferred_worker_id"));
    if (id.empty()) return nullptr;
    const Worker* worker = registry.find_routable(id, now);
    if (worker == nullptr || std::ranges::find(pools, worker->pool) == pools.end()) return nullptr;
    if (!placement_matches(request.labels(), *worker) || overloaded(*worker, tunables)) return nullptr;
    return worker;
}

/// Of the workers in one pool that may carry what the job wants, those in the shortest order that the index has. Null: nobody does.
const LoadIndex::Order* shortest_order(const LoadIndex& index, const std::string& pool, const Labels& wanted) {
    const LoadIndex::Order* shortest = index.of_pool(pool);
    for (const auto& [name, value] : wanted) {
        if (!constrains_placement(name)) continue;
        const LoadIndex::Order* carriers = index.carriers(pool, name, value);
        if (carriers == nullptr) return nullptr;
        if (carriers->size() < shortest->size()) shortest = carriers;
    }
    return shortest;
}

/// The first in order that may have the job. Null: nobody may.
const Worker* first_in_order(const std::vector<std::string>& pools, const Labels& wanted, const Registry& registry,
                             const Tunables& tunables, MonoTime now) {
    const LoadIndex::Place* best = nullptr;
    for (const std::string& pool : pools) {
        const LoadIndex::Order* order = shortest_order(registry.by_load(), pool, wanted);
        if (order == nullptr) continue;
        const auto found = std::ranges::find_if(*order, [&](const LoadIndex::Place& place) {
            // Who comes after the best of another pool is not asked any more.
            return (best != nullptr && *best < place) ||
                   (Registry::alive(*place.worker, now) && placement_matches(wanted, *place.worker) &&
                    !overloaded(*place.worker, tunables));
        });
        if (found != order->end() && (best == nullptr || *found < *best)) best = &*found;
    }
    return best == nullptr ? nullptr : best->worker;
}

/// The same by asking everybody, for who routes by other loads than those of the index; and why there is nobody.
tl::expected<WorkerId, NoPick> best_of_all(const std::vector<std::string>& pools, const Labels& wanted,
                                           const Registry& registry, const Tunables& tunables, MonoTime now) {
    const Worker* best = nullptr;
    float best_score = 0;
    Passed passed;
    for (const std::string& pool : pools) {
        const LoadIndex::Order* order = registry.by_load().of_pool(pool);
        if (order == nullptr) continue;
        for (const auto& [assumed, worker] : *order) {
            if (!Registry::alive(*worker, now)) continue;
            ++passed.live;
            if (!placement_matches(wanted, *worker)) continue;
            ++passed.fit;
            if (overloaded(*worker, tunables)) continue;
            const float score = load_score(*worker, tunables.routing_inflight_correction);
            if (best != nullptr && (score > best_score || (score == best_score && worker->id > best->id))) continue;
            best = worker;
            best_score = score;
        }
    }
    if (best != nullptr) return best->id;
    return tl::unexpected(nobody(passed, wanted));
}

}  // namespace

bool too_busy(const Worker& worker, const Tunables& tunables) {
    // Not "at least the limit": a load that is not a number must not look like an idle worker.
    return !(worker.cpu_load < static_cast<float>(tunables.overload_cpu) &&
             worker.gpu_utilization < static_cast<float>(tunables.overload_gpu));
}

std::optional<std::int64_t> slots_of(const Worker& worker, const Tunables& tunables) {
    if (worker.max_parallel_jobs <= 0) return std::nullopt;
    // As `overloaded` compares, in 32-bit floats: the product may be off by one either way.
    const auto limit = static_cast<float>(tunables.overload_utilization);
    const auto all = static_cast<float>(worker.max_parallel_jobs);
    auto slots = static_cast<std::int64_t>(std::clamp(all * limit, 1.0F, 1e9F));
    while (slots > 1 && static_cast<float>(slots - 1) / all >= limit) --slots;
    while (slots < 1'000'000'000 && static_cast<float>(slots) / all < limit) ++slots;
    return slots;
}

std::optional<std::int64_t> countable_slots(const Worker& worker, const Tunables& tunables) {
    const auto slots = slots_of(worker, tunables);
    if (!slots) return slots;
    const std::int64_t counted = std::max(worker.most_in_flight, worker.most_in_flight_before);
    const std::int64_t others = std::max<std::int64_t>(0, worker.active_jobs - counted);
    return std::max<std::int64_t>(0, *slots - others);
}

std::string Demand::queue() const {
    std::string name = fmt::format("{};", pools.size());
    for (const std::string& pool : pools) name += fmt::format("{}:{}", pool.size(), pool);
    for (const auto& [key, value] : labels) name += fmt::format("{}:{}{}:{}", key.size(), key, value.size(), value);
    return name + ".";
}

std::optional<Demand> Demand::of_queue(std::string_view name) {
    const auto number_up_to = [&name](char end) -> std::optional<std::size_t> {
        std::size_t number = 0;
        const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (error != std::errc{} || stop == name.data() + name.size() || *stop != end) return std::nullopt;
        name.remove_prefix(static_cast<std::size_t>(stop - name.data()) + 1);
        return number;
    };
    const auto pools = number_up_to(';');
    std::vector<std::string> texts;
    while (pools && !name.empty() && name != ".") {
        const auto length = number_up_to(':');
        if (!length || *length > name.size()) return std::nullopt;
        texts.emplace_back(name.substr(0, *length));
        name.remove_prefix(*length);
    }
    if (!pools || name != "." || *pools > texts.size() || (texts.size() - *pools) % 2 != 0) return std::nullopt;
    Demand demand;
    for (std::size_t i = *pools; i < texts.size(); i += 2) demand.labels.emplace_back(texts[i], texts[i + 1]);
    texts.resize(*pools);
    demand.pools = std::move(texts);
    return demand;
}

bool Demand::met_by(const Worker& worker) const {
    return std::ranges::binary_search(pools, worker.pool) && std::ranges::all_of(labels, [&worker](const auto& label) {
               const auto carried = worker.labels.find(label.first);
               return carried != worker.labels.end() && carried->second == label.second;
           });
}

Demand demand_of(const cap::JobRequest& request, const RoutingTable& table) {
    Demand demand;
    if (auto pools = eligible_pools(request, table)) demand.pools = std::move(*pools);
    std::ranges::sort(demand.pools);
    demand.pools.erase(std::unique(demand.pools.begin(), demand.pools.end()), demand.pools.end());
    for (const auto& [name, value] : request.labels())
        if (constrains_placement(name)) demand.labels.emplace_back(name, value);
    // Each topic that has lost its pools waits by itself: for how long is counted by queue. No worker has a label without a name.
    if (demand.pools.empty()) demand.labels.emplace_back("", request.topic());
    std::ranges::sort(demand.labels);
    return demand;
}

std::vector<const Worker*> fitting_workers(const Demand& demand, const Registry& registry, MonoTime now,
                                           std::size_t most) {
    std::vector<const Worker*> found;
    for (const std::string& pool : demand.pools) {
        const LoadIndex::Order* order = registry.by_load().of_pool(pool);
        if (order == nullptr) continue;
        for (const LoadIndex::Place& place : *order) {
            if (found.size() >= most) return found;
            if (Registry::alive(*place.worker, now) && demand.met_by(*place.worker)) found.push_back(place.worker);
        }
    }
    return found;
}

bool overloaded(const Worker& worker, const Tunables& tunables) {
    if (worker.max_parallel_jobs > 0) {
        const float used = static_cast<float>(assumed_active(worker, tunables.routing_inflight_correction)) /
                           static_cast<float>(worker.max_parallel_jobs);
        if (used >= static_cast<float>(tunables.overload_utilization)) return true;
    }
    return too_busy(worker, tunables);
}

tl::expected<WorkerId, NoPick> pick_worker(const cap::JobRequest& request, const RoutingTable& table,
                                           const Registry& registry, const Tunables& tunables, MonoTime now) {
    if (request.topic().empty()) return tl::unexpected(NoPick{DispatchReason::dispatch_failed, "the job has no topic"});
    const auto pools = eligible_pools(request, table);
    if (!pools) return tl::unexpected(pools.error());
    if (const Worker* preferred = preferred_worker(request, *pools, registry, tunables, now)) return preferred->id;

    if (tunables.routing_inflight_correction) {
        if (const Worker* first = first_in_order(*pools, request.labels(), registry, tunables, now)) return first->id;
    }
    return best_of_all(*pools, request.labels(), registry, tunables, now);
}

}  // namespace lockstep::engine
