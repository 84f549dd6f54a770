#include "engine/routing/load_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

namespace {

LoadIndex::Place place_of(const Worker& worker) {
    const float score = load_score(worker, true);
    return {std::isnan(score) ? std::numeric_limits<float>::infinity() : score, &worker};
}

}  // namespace

bool constrains_placement(std::string_view label) {
    return label.starts_with("placement.") || label.starts_with("constraint.") || label.starts_with("node.");
}

std::int32_t assumed_active(const Worker& worker, bool corrected) {
    if (!corrected) return worker.active_jobs;
    return std::max(0, worker.active_jobs + worker.sent_since_heartbeat - worker.ended_since_heartbeat);
}

float load_score(const Worker& worker, bool corrected) {
    return static_cast<float>(assumed_active(worker, corrected)) + worker.cpu_load / 100.0F +
           worker.gpu_utilization / 100.0F;
}

void LoadIndex::add(const Worker& worker) {
    if (!worker.has_heartbeat) return;
    const Place place = place_of(worker);
    Pool& pool = pools_[worker.pool];
    pool.all.insert(place);
    for (const auto& [name, value] : worker.labels) {
        if (!constrains_placement(name)) continue;
        const auto found = pool.carriers.find(LabelView(name, value));
        Order& carriers = found != pool.carriers.end() ? found->second : pool.carriers[Label(name, value)];
        carriers.insert(place);
    }
}

void LoadIndex::remove(const Worker& worker) {
    if (!worker.has_heartbeat) return;
    const Place place = place_of(worker);
    const auto pool = pools_.find(worker.pool);
    INVARIANT(pool != pools_.end() && pool->second.all.erase(place) == 1,
              "worker {} is not where its load of {} belongs", worker.id.text(), place.score);
    for (const auto& [name, value] : worker.labels) {
        const auto carriers = pool->second.carriers.find(LabelView(name, value));
        if (carriers == pool->second.carriers.end()) continue;
        carriers->second.erase(place);
        if (carriers->second.empty()) pool->second.carriers.erase(carriers);
    }
    if (pool->second.all.empty()) pools_.erase(pool);
}

const LoadIndex::Order* LoadIndex::of_pool(std::string_view pool) const {
    const auto found = pools_.find(pool);
    return found == pools_.end() ? nullptr : &found->second.all;
}

const LoadIndex::Order* LoadIndex::carriers(std::string_view pool, std::string_view name,
                                            std::string_view value) const {
    const auto found = pools_.find(pool);
    if (found == pools_.end()) return nullptr;
    const auto carriers = found->second.carriers.find(LabelView(name, value));
    return carriers == found->second.carriers.end() ? nullptr : &carriers->second;
}

}  // namespace lockstep::engine
