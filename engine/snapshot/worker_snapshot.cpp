#include "engine/snapshot/worker_snapshot.h"

#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/runtime/invariant.h"
#include "engine/wire/json_text.h"

namespace lockstep::engine {

namespace {

using google::protobuf::util::TimeUtil;
using Json = nlohmann::ordered_json;

struct PoolTotals {
    std::int64_t workers = 0;
    std::int64_t active_jobs = 0;
    std::int64_t capacity = 0;
};
using Totals = std::map<std::string_view, PoolTotals>;

/// The shortest decimal that reads back as the same 32-bit float, which is what every peer holds.
double shortest(float value) {
    const std::string text = fmt::format("{}", value);
    double decimal = value;
    std::from_chars(text.data(), text.data() + text.size(), decimal);
    return decimal;
}

void put_load(Json& object, const char* key, float load) {
    const bool has_json_form = std::isfinite(load);
    if (load != 0 && has_json_form) object[key] = shortest(load);
}

void put_text(Json& object, const char* key, const std::string& text) {
    if (!text.empty()) object[key] = text;
}

Json worker_json(const Worker& worker) {
    Json object = Json::object();
    object["worker_id"] = worker.id.text();
    object["pool"] = worker.pool;
    object["active_jobs"] = worker.active_jobs;
    object["max_parallel_jobs"] = worker.max_parallel_jobs;
    if (!worker.capabilities.empty()) object["capabilities"] = worker.capabilities;
    put_load(object, "cpu_load", worker.cpu_load);
    put_load(object, "gpu_utilization", worker.gpu_utilization);
    put_load(object, "memory_load", worker.memory_load);
    put_text(object, "region", worker.region);
    put_text(object, "type", worker.type);
    if (!worker.labels.empty()) object["labels"] = worker.labels;
    return object;
}

Json pools_json(const Totals& totals) {
    Json pools = Json::object();
    for (const auto& [name, total] : totals) {
        Json& pool = pools[std::string(name)];
        pool["workers"] = total.workers;
        pool["active_jobs"] = total.active_jobs;
        pool["capacity"] = total.capacity;
    }
    return pools;
}

Json topics_json(const RoutingTable& routing, const Totals& totals) {
    Json topics = Json::object();
    for (const auto& [name, pools] : routing.topics) {
        if (pools.empty()) continue;
        const auto found = totals.find(pools.front());
        const PoolTotals total = found == totals.end() ? PoolTotals() : found->second;
        Json& topic = topics[name];
        topic["pool"] = pools.front();
        topic["workers"] = total.workers;
        topic["capacity"] = total.capacity;
        topic["available"] = total.workers > 0;
    }
    return topics;
}

}  // namespace

std::string worker_snapshot_json(const Registry& registry, const RoutingTable& routing, std::string_view writer_id,
                                 WallTime captured_at, MonoTime now) {
    Totals totals;
    Json workers = Json::array();
    registry.for_each_heard(now, [&](const Worker& worker) {
        INVARIANT(worker.heard, "worker {} is passed on by hearsay", worker.id);
        PoolTotals& pool = totals[worker.pool];
        ++pool.workers;
        pool.active_jobs += worker.active_jobs;
        pool.capacity += std::max(worker.max_parallel_jobs, 0);
        workers.push_back(worker_json(worker));
    });
    const auto seconds = std::chrono::floor<std::chrono::seconds>(captured_at.time_since_epoch()).count();
    Json document = Json::object();
    document["captured_at"] = TimeUtil::ToString(TimeUtil::SecondsToTimestamp(seconds));
    if (!writer_id.empty()) document["writer_id"] = writer_id;
    if (!totals.empty()) document["pools"] = pools_json(totals);
    document["topics"] = topics_json(routing, totals);
    document["workers"] = std::move(workers);
    // What a worker says about itself need not be UTF-8, and must not stop the snapshot of all others.
    return wire::json_text(document);
}

}  // namespace lockstep::engine
