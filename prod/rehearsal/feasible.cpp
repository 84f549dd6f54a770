#include "prod/rehearsal/feasible.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "prod/rehearsal/worker_script.h"
#include "sim/rules/invariants.h"
#include "sim/scenario/topology.h"

namespace lockstep::prod::rehearsal {

namespace {

using engine::Duration;
using sim::NodeRole;
using sim::Scenario;
using sim::Topology;

/// Facts that are seen from outside as they happen, give or take some milliseconds.
bool is_seen(fakes::EventKind kind) {
    using enum fakes::EventKind;
    return kind == state || kind == lock_acquired || kind == lock_renewed || kind == lock_released ||
           kind == job_started || kind == submit || kind == cancel || kind == approve;
}

bool is_process(NodeRole role) {
    return role != NodeRole::gateway && role != NodeRole::operator_node && role != NodeRole::result_reader;
}

/// Why this fault cannot be done; empty: it can.
std::string obstacle(const sim::Fault& fault, const Topology& topology) {
    if (fault.on && !is_seen(fault.on->event))
        return fmt::format("it is placed on {}, which nobody sees from outside", fakes::to_string(fault.on->event));
    static const std::set<std::string, std::less<>> kOfServers{"redis.restart", "redis.script_flush", "nats.restart"};
    if (kOfServers.contains(fault.kind())) return {};
    const auto* whom = fault.part<sim::faults::OfNode>();
    if (whom == nullptr || (fault.kind() != "crash" && fault.kind() != "pause" && fault.kind() != "stop"))
        return "nobody outside can do this to real servers";
    const auto* with = fault.part<sim::faults::Restarting>();
    if (with != nullptr && !with->config.empty()) return "lockstepd is started again with the environment that it had";
    if (whom->target == "actor")
        return fault.on && fault.on->event != fakes::EventKind::submit ? "" : "the gateway is a part of the harness";
    for (const fakes::NodeId node : topology.members(whom->target)) {
        const NodeRole role = topology.node(node).role;
        if (!is_process(role)) return fmt::format("{} is a part of the harness", topology.name(node));
        if (fault.kind() == "stop" && (role == NodeRole::redis || role == NodeRole::nats))
            return "servers are killed and restarted, not asked to end";
    }
    return {};
}

std::string name_of(const sim::Fault& fault) {
    std::string text = fmt::format("{} {}", fault.pointer, fault.kind());
    const auto* whom = fault.part<sim::faults::Targeted>();
    if (whom != nullptr && !whom->target.empty()) text += " of " + whom->target;
    if (fault.on) text += fmt::format(" on {}", fakes::to_string(fault.on->event));
    return text;
}

void sort_faults(Feasibility& f, const Topology& topology) {
    std::vector<sim::Fault> kept;
    for (sim::Fault& fault : f.scenario.faults) {
        const std::string why = obstacle(fault, topology);
        if (!why.empty()) {
            f.not_applied.push_back(fmt::format("{}: {}", name_of(fault), why));
            continue;
        }
        f.applied.push_back(name_of(fault) + (fault.on ? ", as soon as it is seen" : ""));
        kept.push_back(std::move(fault));
    }
    f.scenario.faults = std::move(kept);
    if (f.scenario.chaos) f.not_applied.emplace_back("chaos: its faults belong to a simulated network and clock");
    f.scenario.chaos.reset();
}

void sort_load(Feasibility& f) {
    if (!f.scenario.load.empty()) f.applied.push_back(fmt::format("{} lines of load", f.scenario.load.size()));
}

bool can_come_to(const sim::WorkerGroup& group) {
    const auto has_status = [](const std::string& outcome) { return exit_status_for(outcome).has_value(); };
    return group.outcomes.size() == 1 && has_status(group.outcomes.begin()->first) &&
           std::ranges::all_of(group.first_outcomes, has_status);
}

void sort_workers(Feasibility& f) {
    for (sim::WorkerGroup& group : f.scenario.cluster.workers) {
        if (!can_come_to(group)) {
            f.not_applied.push_back(
                fmt::format("outcomes of {}: a real worker succeeds or fails, and nothing is drawn", group.id));
            group.outcomes = {{"SUCCEEDED", 1.0}};
            group.first_outcomes.clear();
        }
        if (group.service_time.kind != fakes::Distribution::Kind::constant)
            f.not_applied.push_back(fmt::format("service time of {}: always {}, nothing is drawn", group.id,
                                                engine::format_duration(group.service_time.a)));
        if (group.heartbeat_phase > Duration{0} || group.cpu_load)
            f.not_applied.push_back(fmt::format("phase of heartbeats and reported load of {}", group.id));
        if (!group.type.empty()) f.not_applied.push_back(fmt::format("type of {}", group.id));
        group.service_time = fakes::Distribution::constant(group.service_time.a);
    }
}

void sort_cluster(Feasibility& f) {
    sim::Cluster& cluster = f.scenario.cluster;
    const sim::Cluster plain;
    const auto same = [](const fakes::Distribution& a, const fakes::Distribution& b) {
        return a.kind == b.kind && a.a == b.a && a.b == b.b && a.shape == b.shape;
    };
    if (!same(cluster.network_latency, plain.network_latency)) f.not_applied.emplace_back("latency of the network");
    if (!same(cluster.kernel_latency, plain.kernel_latency)) f.not_applied.emplace_back("latency of the kernel");
    if (cluster.kernel_judging_rate > 0) f.not_applied.emplace_back("rate at which the kernel judges");
    if (!same(cluster.clock_offset, plain.clock_offset) || cluster.clock_drift_ppm != 0)
        f.not_applied.emplace_back("offset and drift of clocks: all processes have the one of this machine");
    if (!cluster.service_rates.empty()) f.not_applied.emplace_back("service rates of nodes");
    if (cluster.redis_replica_lag > Duration{0}) f.not_applied.emplace_back("lag of a replica: there is none");
    if (cluster.nats_sync_interval != plain.nats_sync_interval)
        f.not_applied.emplace_back("sync interval of NATS: that of nats-server");
    if (cluster.nats_jobs_stream_messages != 0)
        f.not_applied.emplace_back("messages that the stream of dispatches takes: as many as NATS has room for");
    constexpr Duration kProcessedTtlMin = std::chrono::minutes(10);
    if (cluster.config.bus_processed_ttl < kProcessedTtlMin)
        f.not_applied.emplace_back("tunable bus_processed_ttl: lockstepd takes nothing below 10m");
    if (cluster.result_readers > 0) f.not_applied.emplace_back("result readers: there is no such program yet");
    cluster.result_readers = 0;
}

void sort_expectations(Feasibility& f) {
    sim::Expectations& expect = f.scenario.expect;
    for (const sim::MetricExpectation& metric : expect.metrics) f.not_judged.push_back("metric " + metric.text);
    for (const sim::MeasureExpectation& measure : expect.measures) f.not_judged.push_back("measure " + measure.measure);
    for (const sim::EventExpectation& event : expect.events)
        f.not_judged.push_back(fmt::format("events {} {}", fakes::to_string(event.filter.event), event.count.text));
    for (const sim::RedisExpectation& value : expect.redis) f.not_judged.push_back("value of " + value.key);
    if (!expect.dead_letters.empty()) f.not_judged.emplace_back("dead letters");
    for (const std::string& mark : expect.sometimes) f.not_judged.push_back("sometimes " + mark);
    expect.metrics.clear();
    expect.measures.clear();
    expect.events.clear();
    expect.redis.clear();
    expect.dead_letters.clear();
    expect.sometimes.clear();

    for (const sim::Standing& invariant : sim::seen_from_outside()) {
        const auto named = std::ranges::find(expect.invariants, invariant.invariant);
        if (invariant.left_out == 0 || !expect.watches(invariant.invariant)) continue;
        const int rules = invariant.rules + invariant.left_out;
        const std::string part =
            invariant.rules == 0 ? "" : fmt::format(", {} of its {} rules", invariant.left_out, rules);
        f.not_judged.push_back(fmt::format("invariant {}{}", invariant.invariant, part));
        if (invariant.rules == 0 && named != expect.invariants.end()) expect.invariants.erase(named);
    }
    // That each of them is put to the test is what all scenarios together owe, not the few that real servers do.
    expect.invariants_given = expect.invariants_given && !expect.all_invariants;
}

Duration end_of_story(const Scenario& scenario) {
    Duration end{};
    for (const sim::Load& load : scenario.load) {
        const double seconds = load.per_second > 0 ? load.count / load.per_second : 0;
        end = std::max(end, load.at + Duration(static_cast<std::int64_t>(seconds * 1e9)));
    }
    for (const sim::Fault& fault : scenario.faults) {
        const Duration lasts = fault.duration.value_or(Duration{0});
        end = std::max(end, fault.on ? lasts : fault.at + lasts);
    }
    return end;
}

}  // namespace

tl::expected<Feasibility, std::string> feasible(Scenario scenario, Duration limit) {
    if (!scenario.without.empty() || scenario.counterexample)
        return tl::make_unexpected("it switches mechanisms off, and lockstepd has all of them");
    if (!scenario.expect.violated.empty())
        return tl::make_unexpected("it wants an invariant to be violated, which real servers cannot be made to do");
    const Topology topology(scenario.cluster);
    Feasibility f;
    f.scenario = std::move(scenario);
    f.scenario.proves.reset();
    sort_faults(f, topology);
    sort_load(f);
    sort_workers(f);
    sort_cluster(f);
    sort_expectations(f);
    const Duration end = end_of_story(f.scenario);
    if (end > limit)
        return tl::make_unexpected(fmt::format("its load and faults take {}, more than {} (see --real-limit)",
                                               engine::format_duration(end), engine::format_duration(limit)));
    return f;
}

}  // namespace lockstep::prod::rehearsal
