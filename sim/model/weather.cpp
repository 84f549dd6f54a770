#include "sim/model/weather.h"

#include <algorithm>

#include "sim/model/job_keys.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::NodeId;

constexpr std::string_view kSlowLink = "slow_link";

bool is_server(NodeId node) { return node == Topology::kRedis || node == Topology::kNats || node == Topology::kKernel; }

/// Whom a fault disturbs that names no node; not valid: the links between them, or all nodes.
NodeId server_of(std::string_view fault) {
    if (fault.starts_with("redis.")) return Topology::kRedis;
    if (fault.starts_with("nats.") || fault == "corrupt") return Topology::kNats;
    if (fault.starts_with("kernel.")) return Topology::kKernel;
    return {};
}

bool is_error(const fakes::Event& answer) {
    return answer.payload.starts_with('-') && !answer.payload.starts_with("-NOSCRIPT");
}

bool is_mishap(const fakes::Event& event) {
    if (event.kind == EventKind::lock_expired) return is_job_lock(event.key);
    if (!fakes::is_call(event.kind)) return event.kind != EventKind::heartbeat && event.kind != EventKind::node_up;
    return event.when == fakes::When::answered && (event.outcome != fakes::EventOutcome::applied || is_error(event));
}

}  // namespace

void Weather::on_event(const fakes::Event& event, Time now) {
    if (is_mishap(event)) note_mishap(event, now);
    switch (event.kind) {
        case EventKind::redis:
            if (is_tick_lock(event.key)) at(event.node).ticks = true;
            // Of a restart only the beginning is told; it is down for as long as it loads.
            if (event.payload.starts_with("-LOADING")) {
                disturbed_ = at(Topology::kRedis).trouble = now;
                trouble(now);
            }
            [[fallthrough]];
        case EventKind::publish:
        case EventKind::core_publish:
        case EventKind::kernel_check: on_answer(event, now); break;
        case EventKind::fault:
            disturbed_ = now;
            trouble(now);
            on_fault(event, now);
            break;
        case EventKind::node_down: trouble(now); [[fallthrough]];
        case EventKind::paused:
            disturbed_ = now;
            at(event.node).away = true;
            at(event.node).trouble = now;
            break;
        case EventKind::node_up:
        case EventKind::resumed:
            disturbed_ = now;
            at(event.node).away = false;
            if (event.kind == EventKind::node_up) {
                at(event.node).stopping = false;
                settled_ = now;
            }
            at(event.node).trouble = now;
            break;
        case EventKind::connection_broken: disturbed_ = now; [[fallthrough]];
        case EventKind::slow_consumer: on_broken_connection(event, now); break;
        case EventKind::heartbeat: at(event.node).worker = true; break;
        default: break;
    }
}

void Weather::on_answer(const fakes::Event& event, Time now) {
    // A script that is wrong is its caller's fault.
    if (event.kind == EventKind::redis && event.when == fakes::When::answered && is_error(event) &&
        !event.payload.starts_with("-ERR"))
        at(event.node).refused = now;
    if (event.when != fakes::When::answered || event.outcome == fakes::EventOutcome::applied ||
        event.outcome == fakes::EventOutcome::none)
        return;
    at(event.kind == EventKind::kernel_check ? Topology::kKernel : event.node).trouble = now;
}

void Weather::note_mishap(const fakes::Event& event, Time now) {
    if (event.kind == EventKind::fault) {
        if (Place* const place = whose(event)) place->mishaps.push_back(now);
        return;
    }
    // Of a lock the peer is the holder.
    for (const NodeId node : {event.node, event.peer})
        if (node.valid() && !is_server(node)) at(node).mishaps.push_back(now);
}

std::int64_t Weather::Place::mishaps_since(Time since) const {
    return mishaps.end() - std::ranges::lower_bound(mishaps, since);
}

std::int64_t Weather::mishaps(std::span<const NodeId> replicas, Time since) const {
    std::int64_t count = links_.mishaps_since(since) + slow_links_.mishaps_since(since);
    const auto add = [&](NodeId node) {
        const auto number = static_cast<std::size_t>(node.value);
        if (number < nodes_.size()) count += nodes_[number].mishaps_since(since);
    };
    for (const NodeId server : {Topology::kRedis, Topology::kNats, Topology::kKernel}) add(server);
    std::ranges::for_each(replicas, add);
    return count;
}

Weather::Place* Weather::whose(const fakes::Event& fault) {
    // The work of workers and the judging of outputs are no part of a job's way to its worker.
    if (fault.name.starts_with("worker.") || fault.name.starts_with("output_policy.")) return nullptr;
    const NodeId node = fault.node.valid() ? fault.node : server_of(fault.name);
    return fault.name == kSlowLink ? &slow_links_ : node.valid() ? &at(node) : &links_;
}

void Weather::on_fault(const fakes::Event& event, Time now) {
    const int step = event.from == "begin" ? 1 : -1;
    const FaultEnd end = end_of_fault(event.name);
    if (end != FaultEnd::at_once) faults_ = std::max(0, faults_ + step);
    const int lasting = end == FaultEnd::told ? step : 0;
    lasting_ += lasting;
    Place* const place = whose(event);
    if (place == nullptr) return;
    place->trouble = now;
    if (event.name == "stop" && event.from == "begin") place->stopping = true;
    place->lasting += lasting;
}

void Weather::on_broken_connection(const fakes::Event& event, Time now) {
    for (const NodeId node : {event.node, event.peer})
        if (node.valid() && !is_server(node)) at(node).trouble = now;
}

Weather::Place& Weather::at(NodeId node) {
    if (!node.valid()) return links_;
    const auto number = static_cast<std::size_t>(node.value);
    if (number >= nodes_.size()) nodes_.resize(number + 1);
    return nodes_[number];
}

bool Weather::clear_at(NodeId node, Time since) const {
    const auto number = static_cast<std::size_t>(node.value);
    return !node.valid() || number >= nodes_.size() || nodes_[number].clear(since);
}

bool Weather::bus_clear_at(Time since) const { return clear_at(Topology::kNats, since) && links_.clear(since); }

bool Weather::clear_for(NodeId replica, Time since) const {
    return clear_but_slow_for(replica, since) && slow_links_.clear(since);
}

bool Weather::clear_but_slow_for(NodeId replica, Time since) const {
    return clear_at(replica, since) && clear_at(Topology::kRedis, since) && bus_clear_at(since);
}

bool Weather::stopping(NodeId node) const {
    const auto number = static_cast<std::size_t>(node.value);
    return node.valid() && number < nodes_.size() && nodes_[number].stopping;
}

bool Weather::refused(NodeId node, Time since) const {
    const auto number = static_cast<std::size_t>(node.value);
    return node.valid() && number < nodes_.size() && nodes_[number].refused >= since;
}

std::optional<engine::Duration> Weather::lasts_for(Time now) const {
    const auto is_away = [this](NodeId node) {
        const auto number = static_cast<std::size_t>(node.value);
        return number < nodes_.size() && nodes_[number].away;
    };
    const bool ticks = std::ranges::any_of(nodes_, [](const Place& node) { return node.ticks && !node.away; });
    if (lasting_ > 0 || !ticks || is_away(Topology::kRedis) || is_away(Topology::kNats)) return std::nullopt;
    return now - disturbed_;
}

bool Weather::clear_everywhere(Time since) const {
    return links_.clear(since) && slow_links_.clear(since) &&
           std::ranges::all_of(nodes_, [since](const Place& node) { return node.worker || node.clear(since); });
}

}  // namespace lockstep::sim
