#include "engine/routing/pick.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
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

bool constrains_placement(const std::string& key) {
    return key.starts_with("placement.") || key.starts_with("constraint.") || key.starts_with("node.");
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

/// Active jobs as the worker said, and what was sent to it and ended since. Without the ends a worker would be given no more
/// jobs between two heartbeats than it has places, however fast it is.
std::int32_t assumed_active(const Worker& worker, const Tunables& tunables) {
    if (!tunables.routing_inflight_correction) return worker.active_jobs;
    return std::max(0, worker.active_jobs + worker.sent_since_heartbeat - worker.ended_since_heartbeat);
}

}  // namespace

float load_score(const Worker& worker, const Tunables& tunables) {
    return static_cast<float>(assumed_active(worker, tunables)) + worker.cpu_load / 100.0F +
           worker.gpu_utilization / 100.0F;
}

bool overloaded(const Worker& worker, const Tunables& tunables) {
    if (worker.max_parallel_jobs > 0) {
        const float used =
            static_cast<float>(assumed_active(worker, tunables)) / static_cast<float>(worker.max_parallel_jobs);
        if (used >= static_cast<float>(tunables.overload_utilization)) return true;
    }
    // Not "at least the limit": a load that is not a number must not look like an idle worker.
    const bool has_room = worker.cpu_load < static_cast<float>(tunables.overload_cpu) &&
                          worker.gpu_utilization < static_cast<float>(tunables.overload_gpu);
    return !has_room;
}

tl::expected<WorkerId, NoPick> pick_worker(const cap::JobRequest& request, const RoutingTable& table,
                                           const Registry& registry, const Tunables& tunables, MonoTime now) {
    if (request.topic().empty()) return tl::unexpected(NoPick{DispatchReason::dispatch_failed, "the job has no topic"});
    const auto pools = eligible_pools(request, table);
    if (!pools) return tl::unexpected(pools.error());
    if (const Worker* preferred = preferred_worker(request, *pools, registry, tunables, now)) return preferred->id;

    const Worker* best = nullptr;
    float best_score = 0;
    Passed passed;
    for (const std::string& pool : *pools) {
        registry.for_each_in_pool(pool, now, [&](const Worker& worker) {
            ++passed.live;
            if (!placement_matches(request.labels(), worker)) return;
            ++passed.fit;
            if (overloaded(worker, tunables)) return;
            const float score = load_score(worker, tunables);
            if (best != nullptr && (score > best_score || (score == best_score && worker.id > best->id))) return;
            best = &worker;
            best_score = score;
        });
    }
    if (best != nullptr) return best->id;
    return tl::unexpected(nobody(passed, request.labels()));
}

}  // namespace lockstep::engine
