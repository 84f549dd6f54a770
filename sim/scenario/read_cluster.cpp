#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "sim/scenario/read.h"
#include "sim/scenario/values.h"

namespace lockstep::sim::detail {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kDefaultPools = R"({"pools":{"default":{"requires":[]}},"topics":{"job.default":["default"]}})";
constexpr const char* kDefaultPolicy = R"({"default_decision":"allow"})";

/// What a reconciler block of timeouts.yaml means: a time of zero stands for its documented fallback.
void override_timeout(const json& block, const std::string& name, Duration fallback,
                      std::initializer_list<Duration*> targets) {
    const json* exact = member(block, name);
    const json* seconds = member(block, name + "_seconds");
    if (exact == nullptr && seconds == nullptr) return;
    Duration value =
        exact != nullptr ? duration_value(*exact) : Duration(std::chrono::seconds{seconds->get<std::int64_t>()});
    if (value == Duration{}) value = fallback;
    for (Duration* target : targets) *target = value;
}

void read_timeouts(const json& document, engine::Tunables& tunables) {
    const json* reconciler = member(document, "reconciler");
    if (reconciler == nullptr) return;
    override_timeout(*reconciler, "dispatch_timeout", 120s, {&tunables.dispatch_timeout});
    override_timeout(*reconciler, "running_timeout", 300s, {&tunables.running_timeout});
    override_timeout(*reconciler, "scan_interval", 30s, {&tunables.reconciler_interval, &tunables.replayer_interval});
}

std::optional<std::pair<double, double>> range_of(const json& object, std::string_view name) {
    const json* range = member(object, name);
    if (range == nullptr) return std::nullopt;
    return std::pair{number_of(*range, "min", 0), number_of(*range, "max", 0)};
}

WorkerGroup read_workers(const json& object) {
    WorkerGroup group;
    group.id = text_of(object, "id");
    if (const json* count = member(object, "count")) group.count = count->get<int>();
    group.pool = text_of(object, "pool", group.pool);
    group.max_parallel_jobs = int_of(object, "max_parallel_jobs", group.max_parallel_jobs);
    group.capabilities = texts_of(object, "capabilities");
    group.labels = labels_of(object, "labels");
    group.region = text_of(object, "region");
    group.type = text_of(object, "type");
    group.heartbeat = duration_of(object, "heartbeat", group.heartbeat);
    group.service_time = distribution_of(object, "service_time", group.service_time);
    if (const json* outcomes = member(object, "outcomes")) {
        group.outcomes.clear();
        for (const auto& [name, weight] : outcomes->items()) group.outcomes.emplace(name, weight.get<double>());
    }
    group.first_outcomes = texts_of(object, "first_outcomes");
    group.heartbeat_phase = duration_of(object, "heartbeat_phase", group.heartbeat_phase);
    group.cpu_load = range_of(object, "cpu_load");
    group.gpu_load = range_of(object, "gpu_load");
    group.listens_to_cancel = flag_of(object, "listens_to_cancel", group.listens_to_cancel);
    return group;
}

void read_policies(const json& object, Cluster& cluster) {
    cluster.documents.policy = kDefaultPolicy;
    if (const json* kernel = member(object, "kernel")) {
        cluster.kernel_latency = distribution_of(*kernel, "latency", cluster.kernel_latency);
        if (const json* rate = member(*kernel, "judging_rate"))
            cluster.kernel_judging_rate = rate->get<std::uint64_t>();
        if (const json* policy = member(*kernel, "policy")) cluster.documents.policy = engine::wire::json_text(*policy);
    }
    if (const json* output = member(object, "output_policy")) {
        cluster.documents.output_policy = engine::wire::json_text(*output);
        cluster.config.output_policy_enabled = flag_of(*output, "enabled", cluster.config.output_policy_enabled);
        cluster.config.output_policy_fail_mode = text_of(*output, "fail_mode", cluster.config.output_policy_fail_mode);
    }
}

SchedulePolicy read_schedule(const json& object) {
    SchedulePolicy policy;
    const std::string kind = text_of(object, "kind");
    if (kind == "pct") policy.kind = SchedulePolicy::Kind::pct;
    if (kind == "delay_bounded") policy.kind = SchedulePolicy::Kind::delay_bounded;
    policy.depth = int_of(object, "depth", policy.depth);
    if (const json* within = member(object, "within")) policy.within = within->get<std::uint64_t>();
    policy.lag = duration_of(object, "lag", policy.lag);
    return policy;
}

RedisPersistence persistence_named(const std::string& name) {
    if (name == "none") return RedisPersistence::none;
    return name == "everysec" ? RedisPersistence::everysec : RedisPersistence::always;
}

}  // namespace

NamedTunables tunables_of(const json& object) {
    NamedTunables named;
    for (const auto& [name, value] : object.items())
        named.emplace_back(name, value.is_string() ? value.get<std::string>() : engine::wire::json_text(value));
    return named;
}

Cluster read_cluster(const json& object) {
    Cluster cluster;
    cluster.schedulers = int_of(object, "schedulers", cluster.schedulers);
    cluster.workflow_engines = int_of(object, "workflow_engines", cluster.workflow_engines);
    cluster.schedulers_run_workflows = flag_of(object, "schedulers_run_workflows", cluster.schedulers_run_workflows);
    cluster.result_readers = int_of(object, "result_readers", cluster.result_readers);
    cluster.gateway_writes_redis = text_of(object, "gateway") != "publish-only";
    // The policy section first: a tunable of the same meaning that stands in `config` is the more explicit one.
    read_policies(object, cluster);
    if (const json* config = member(object, "config"))
        put_in_force(tunables_of(*config), cluster.config, cluster.pinned);
    const json* pools = member(object, "pools");
    cluster.documents.pools = pools == nullptr ? kDefaultPools : engine::wire::json_text(*pools);
    if (const json* timeouts = member(object, "timeouts")) {
        cluster.documents.timeouts = timeouts_text(*timeouts);
        read_timeouts(*timeouts, cluster.config);
    }
    if (const json* workers = member(object, "workers")) {
        for (const json& group : *workers)
            if (group.is_object()) cluster.workers.push_back(read_workers(group));
    }
    if (const json* redis = member(object, "redis")) {
        cluster.redis_persistence = persistence_named(text_of(*redis, "persistence", "always"));
        cluster.redis_replica_lag = duration_of(*redis, "replica_lag");
    }
    if (const json* nats = member(object, "nats")) {
        cluster.nats_sync_interval = duration_of(*nats, "sync_interval", cluster.nats_sync_interval);
        const auto bytes = [nats](const char* name, std::uint64_t& value) {
            if (const json* given = member(*nats, name)) value = given->get<std::uint64_t>();
        };
        bytes("max_payload", cluster.nats_max_payload);
        bytes("max_pending", cluster.nats_max_pending);
        bytes("jobs_stream_messages", cluster.nats_jobs_stream_messages);
        bytes("bandwidth", cluster.nats_bandwidth);
    }
    if (const json* rates = member(object, "service_rates"))
        for (const auto& [name, rate] : rates->items())
            cluster.service_rates.emplace(name, *parse_rate(rate.get<std::string>()));
    if (const json* network = member(object, "network"))
        cluster.network_latency = distribution_of(*network, "latency", cluster.network_latency);
    if (const json* schedule = member(object, "schedule")) cluster.schedule = read_schedule(*schedule);
    if (const json* clocks = member(object, "clocks")) {
        cluster.clock_offset = distribution_of(*clocks, "offset", cluster.clock_offset);
        cluster.clock_drift_ppm = number_of(*clocks, "drift_ppm", 0);
    }
    return cluster;
}

std::string timeouts_text(const json& document) {
    constexpr std::string_view kSuffix = "_seconds";
    // Names of times in any block; every other member is a number already.
    const auto in_seconds = [&](const json& block) {
        json out = json::object();
        for (const auto& [key, value] : block.items()) {
            const bool time = !key.ends_with(kSuffix) && key != "max_retries";
            // Rounded up, so that a short time does not become "no limit".
            if (time)
                out[key + std::string(kSuffix)] = (duration_value(value).count() + 999'999'999) / 1'000'000'000;
            else
                out[key] = value;
        }
        return out;
    };
    json out = json::object();
    for (const char* name : {"topics", "workflows"}) {
        const json* map = member(document, name);
        if (map == nullptr) continue;
        out[name] = json::object();
        for (const auto& [key, block] : map->items()) out[name][key] = in_seconds(block);
    }
    if (const json* reconciler = member(document, "reconciler")) out["reconciler"] = in_seconds(*reconciler);
    return engine::wire::json_text(out);
}

}  // namespace lockstep::sim::detail

namespace lockstep::sim {

void put_in_force(const NamedTunables& named, engine::Tunables& tunables, engine::PinnedSettings& pinned) {
    for (const auto& [name, value] : named) {
        // The table made from the tunables has accepted the value already.
        const auto set = engine::set_tunable(tunables, name, value);
        static_cast<void>(set);
        pinned.input_fail_mode = pinned.input_fail_mode || name == "policy_check_fail_mode";
        pinned.output_fail_mode = pinned.output_fail_mode || name == "output_policy_fail_mode";
    }
}

}  // namespace lockstep::sim
