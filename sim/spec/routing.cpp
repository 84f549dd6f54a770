#include "sim/spec/routing.h"

#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/text.h"

namespace lockstep::sim::spec {

namespace {

namespace wire = engine::wire;

bool names(const std::vector<std::string>& list, std::string_view name) {
    return std::ranges::find(list, name) != list.end();
}

}  // namespace

Placement placement_of(const cap::JobRequest& request) {
    Placement job;
    job.topic = wire::trim(request.topic());
    for (const auto& [name, value] : request.labels()) {
        if (name == "preferred_pool") job.pool = value;
        if (name == "preferred_worker_id") job.worker = value;
        if (name.starts_with("placement.") || name.starts_with("constraint.") || name.starts_with("node."))
            job.labels.emplace(name, value);
    }
    for (const std::string& item : request.meta().requires_())
        if (const auto bare = wire::trim(item); !bare.empty()) job.requires_.push_back(wire::ascii_lower(bare));
    return job;
}

std::vector<std::string> pools_for(const Placement& job, const PoolsText& table) {
    const auto served = table.topics.find(job.topic);
    if (served == table.topics.end()) return {};
    std::vector<std::string> pools = served->second;
    std::erase_if(pools, [&](const std::string& name) {
        static const PoolsText::Pool kNotListed;
        const auto listed = table.pools.find(name);
        const PoolsText::Pool& pool = listed == table.pools.end() ? kNotListed : listed->second;
        return !pool.is_active || (!job.pool.empty() && name != job.pool) ||
               !std::ranges::all_of(job.requires_, [&](const auto& item) { return names(pool.offers, item); });
    });
    return pools;
}

bool carries(const Labels& worker, const Labels& labels) {
    return std::ranges::all_of(labels, [&worker](const auto& label) {
        const auto found = worker.find(label.first);
        return found != worker.end() && found->second == label.second;
    });
}

bool may_have(const NamedWorker& worker, const Placement& job, const std::vector<std::string>& pools) {
    return names(pools, worker.pool) && carries(worker.labels, job.labels);
}

bool is_overloaded(const NamedWorker& worker, std::int64_t active, const engine::Tunables& tunables) {
    const bool is_full =
        worker.max_parallel_jobs > 0 && static_cast<float>(active) / static_cast<float>(worker.max_parallel_jobs) >=
                                            static_cast<float>(tunables.overload_utilization);
    return is_full || static_cast<float>(worker.cpu_load) >= static_cast<float>(tunables.overload_cpu) ||
           static_cast<float>(worker.gpu_utilization) >= static_cast<float>(tunables.overload_gpu);
}

float score_of(const NamedWorker& worker, std::int64_t active) {
    return static_cast<float>(active) + static_cast<float>(worker.cpu_load) / 100.0F +
           static_cast<float>(worker.gpu_utilization) / 100.0F;
}

}  // namespace lockstep::sim::spec
