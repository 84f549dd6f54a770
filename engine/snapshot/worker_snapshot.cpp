#include "engine/snapshot/worker_snapshot.h"

#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/runtime/invariant.h"
#include "engine/wire/json.h"

namespace lockstep::engine {

namespace {

using google::protobuf::util::TimeUtil;

struct PoolTotals {
    std::int64_t workers = 0;
    std::int64_t active_jobs = 0;
    std::int64_t capacity = 0;
};
using Totals = std::map<std::string_view, PoolTotals>;

using wire::json_text;

void add(std::string& list, std::string_view item) {
    if (!list.empty()) list += ',';
    list += item;
}

/// The shortest decimal that reads back as the same 32-bit float, which is what every peer holds.
std::string load_member(std::string_view key, float load) {
    const bool has_json_form = std::isfinite(load);
    if (load == 0 || !has_json_form) return {};
    const std::string decimal = fmt::format("{}", load);
    const bool is_whole = decimal.find_first_of(".e") == std::string::npos;
    return fmt::format(R"(,"{}":{}{})", key, decimal, is_whole ? ".0" : "");
}

std::string text_member(std::string_view key, std::string_view text) {
    return text.empty() ? std::string{} : fmt::format(R"(,"{}":{})", key, json_text(text));
}

std::string worker_json(const Worker& worker) {
    std::string capabilities, labels;
    for (const std::string& capability : worker.capabilities) add(capabilities, json_text(capability));
    for (const auto& [name, value] : worker.labels) add(labels, json_text(name) + ':' + json_text(value));
    std::string object =
        fmt::format(R"({{"worker_id":{},"pool":{},"active_jobs":{},"max_parallel_jobs":{})",
                    json_text(worker.id.text()), json_text(worker.pool), worker.active_jobs, worker.max_parallel_jobs);
    if (!capabilities.empty()) object += fmt::format(R"(,"capabilities":[{}])", capabilities);
    object += load_member("cpu_load", worker.cpu_load);
    object += load_member("gpu_utilization", worker.gpu_utilization);
    object += load_member("memory_load", worker.memory_load);
    object += text_member("region", worker.region);
    object += text_member("type", worker.type);
    if (!labels.empty()) object += fmt::format(R"(,"labels":{{{}}})", labels);
    return object + '}';
}

std::string pools_json(const Totals& totals) {
    std::string pools;
    for (const auto& [name, total] : totals)
        add(pools, fmt::format(R"({}:{{"workers":{},"active_jobs":{},"capacity":{}}})", json_text(name), total.workers,
                               total.active_jobs, total.capacity));
    return pools;
}

std::string topics_json(const RoutingTable& routing, const Totals& totals) {
    std::string topics;
    for (const auto& [name, pools] : routing.topics) {
        if (pools.empty()) continue;
        const auto found = totals.find(pools.front());
        const PoolTotals total = found == totals.end() ? PoolTotals() : found->second;
        add(topics, fmt::format(R"({}:{{"pool":{},"workers":{},"capacity":{},"available":{}}})", json_text(name),
                                json_text(pools.front()), total.workers, total.capacity, total.workers > 0));
    }
    return topics;
}

}  // namespace

std::string worker_snapshot_json(const Registry& registry, const RoutingTable& routing, std::string_view writer_id,
                                 WallTime captured_at, MonoTime now) {
    Totals totals;
    std::string workers;
    registry.for_each_heard(now, [&](const Worker& worker) {
        INVARIANT(worker.heard, "worker {} is passed on by hearsay", worker.id);
        PoolTotals& pool = totals[worker.pool];
        ++pool.workers;
        pool.active_jobs += worker.active_jobs;
        pool.capacity += std::max(worker.max_parallel_jobs, 0);
        add(workers, worker_json(worker));
    });
    const auto seconds = std::chrono::floor<std::chrono::seconds>(captured_at.time_since_epoch()).count();
    std::string document =
        fmt::format(R"({{"captured_at":"{}")", TimeUtil::ToString(TimeUtil::SecondsToTimestamp(seconds)));
    document += text_member("writer_id", writer_id);
    if (!totals.empty()) document += fmt::format(R"(,"pools":{{{}}})", pools_json(totals));
    return document + fmt::format(R"(,"topics":{{{}}},"workers":[{}]}})", topics_json(routing, totals), workers);
}

}  // namespace lockstep::engine
