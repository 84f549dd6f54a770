#include "sim/faults/fault_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::sim {

namespace {

/// How long a server stays away when the file does not say.
constexpr Duration kServerAway = std::chrono::seconds{1};

}  // namespace

FaultPlan::FaultPlan(EventQueue& queue, const Topology& topology, Nodes& nodes, Lifecycle& lifecycle, Network& network,
                     fakes::Trace& trace, std::uint64_t seed)
    : queue_(queue),
      topology_(topology),
      nodes_(nodes),
      lifecycle_(lifecycle),
      network_(network),
      trace_(trace),
      seed_(seed),
      calls_(queue) {}

void FaultPlan::add(Fault fault) {
    const std::optional<FaultKind> kind = find_fault_kind(fault.kind);
    PRECONDITION(kind.has_value(), "there is no fault of the kind {}", fault.kind);
    const auto twins = std::ranges::count_if(
        plans_, [&](const Plan& other) { return other.kind == *kind && other.fault.at == fault.at; });
    fakes::Rng stream(seed_, fmt::format("fault:{}:{}:{}", fault.kind, fault.at.count(), twins));
    reports::FaultCount count{.kind = fault.kind, .pointer = fault.pointer, .armed = 1};
    Plan& plan = plans_.emplace_back(Plan{std::move(fault), *kind, stream, std::move(count), {}});
    if (plan.fault.on) {
        plan.trigger.emplace(*plan.fault.on, topology_);
        by_event_[static_cast<std::size_t>(plan.fault.on->event)].push_back(&plan);
        return;
    }
    const Time when = std::max(queue_.now(), Time{plan.fault.at});
    queue_.push(when, NodeId{}, [this, &plan] { begin(plan, NodeId{}); });
}

void FaultPlan::on_event(const fakes::Event& event, Time /*now*/) {
    // By index: what begins here tells of events of its own.
    const std::vector<Plan*>& listening = by_event_[static_cast<std::size_t>(event.kind)];
    for (std::size_t i = 0; i < listening.size(); ++i) {
        Plan& plan = *listening[i];
        if (plan.trigger->hit(event)) begin(plan, event.node);
    }
}

void FaultPlan::begin(Plan& plan, NodeId actor) {
    if (healed_) return;
    ++plan.count.fired;
    switch (plan.kind) {
        case FaultKind::crash:
        case FaultKind::stop:
        case FaultKind::pause:
        case FaultKind::clock_jump:
        case FaultKind::clock_drift:
            for (const NodeId node : resolve(plan.fault.target, actor)) begin_on(plan, node);
            return;
        case FaultKind::partition:
        case FaultKind::slow_link:
        case FaultKind::lossy_link: disturb_link(plan, actor); return;
        case FaultKind::redis_restart:
        case FaultKind::redis_failover:
        case FaultKind::redis_script_flush:
        case FaultKind::redis_evict:
        case FaultKind::redis_corrupt:
        case FaultKind::nats_restart:
        case FaultKind::nats_power_cut:
        case FaultKind::config_update: command_server(plan); return;
        default: disturb_calls(plan, actor); return;
    }
}

void FaultPlan::begin_on(Plan& plan, NodeId node) {
    tell(plan, "begin", node);
    switch (plan.kind) {
        case FaultKind::crash: crash(plan, node); break;
        case FaultKind::stop: stops_.emplace_back(&plan, node); break;
        case FaultKind::pause: pause(plan, node); break;
        default: change_clock(plan, node); break;
    }
}

void FaultPlan::crash(Plan& plan, NodeId node) {
    if (lifecycle_.crash(node)) restart_later(plan, node);
}

void FaultPlan::stop(Plan& plan, NodeId node) {
    if (lifecycle_.stop(node)) restart_later(plan, node);
}

void FaultPlan::restart_later(Plan& plan, NodeId node) {
    const bool reconfigures = !plan.fault.config.empty() || !plan.fault.worker.empty();
    // Other settings take effect when somebody has started with them.
    if (!reconfigures) ++plan.count.effective;
    hold(plan, node, [this, &plan, node, reconfigures] {
        if (reconfigures && controls_ != nullptr) controls_->reconfigure(node, plan.fault);
        if (lifecycle_.restart(node) && reconfigures) ++plan.count.effective;
    });
}

void FaultPlan::pause(Plan& plan, NodeId node) {
    if (!lifecycle_.pause(node, plan.count.effective)) return;
    hold(plan, node, [this, &plan, node] { lifecycle_.resume(node, plan.count.effective); });
}

void FaultPlan::change_clock(Plan& plan, NodeId id) {
    Node& node = nodes_[id];
    if (plan.kind == FaultKind::clock_jump) {
        const Duration by = plan.fault.by_negative ? -plan.fault.by : plan.fault.by;
        node.clock.jump(by);
        if (by != Duration::zero()) ++plan.count.effective;
        // Without a duration nobody sets the clock right again, healing included: it is wrong, not broken.
        if (plan.fault.duration) hold(plan, id, [&node, by] { node.clock.jump(-by); });
        return;
    }
    drift(plan, node);
}

void FaultPlan::drift(Plan& plan, Node& node) {
    std::map<Id, Drift>& drifts = drifts_.try_emplace(node.id, Drifts{node.clock.drift(), {}}).first->second.in_force;
    const Id number = ++last_drift_;
    drifts.emplace(number, Drift::from_ppm(plan.fault.ppm));
    if (set_drift(node)) ++plan.count.effective;
    hold(plan, node.id, [this, &node, number] {
        drifts_.at(node.id).in_force.erase(number);
        set_drift(node);
    });
}

bool FaultPlan::set_drift(Node& node) {
    const Drifts& drifts = drifts_.at(node.id);
    const Drift drift = drifts.in_force.empty() ? drifts.own : drifts.in_force.rbegin()->second;
    if (drift == node.clock.drift()) return false;
    const Time now = queue_.now();
    node.clock.set_drift(drift, now);
    queue_.retime(node.id, [&](MonoTime deadline) { return node.clock.when(deadline, now); });
    return true;
}

void FaultPlan::disturb_link(Plan& plan, NodeId actor) {
    LinkFault link;
    link.kind = plan.kind == FaultKind::partition   ? LinkFault::Kind::cut
                : plan.kind == FaultKind::slow_link ? LinkFault::Kind::slow
                                                    : LinkFault::Kind::lossy;
    link.a = node_set(plan.fault.a, actor);
    link.b = node_set(plan.fault.b, actor);
    if (plan.fault.b.empty()) {
        link.b = link.a;
        link.b.flip();  // cut off from everyone else
    }
    link.a_to_b = plan.fault.direction != "b_to_a";
    link.b_to_a = plan.fault.direction != "a_to_b";
    link.latency = plan.fault.latency;
    link.rate = plan.fault.rate;
    link.effective = &plan.count.effective;
    link.stream = &plan.stream;
    tell(plan, "begin", NodeId{});
    const LinkFaults::Id id = network_.links().add(std::move(link));
    hold(plan, NodeId{}, [this, id] {
        network_.links().remove(id);
        network_.links_changed();
    });
}

void FaultPlan::disturb_calls(Plan& plan, NodeId actor) {
    tell(plan, "begin", NodeId{});
    const CallFaults::Id id =
        calls_.add(plan.kind, plan.fault, plan.count, plan.stream, node_set(plan.fault.target, actor));
    hold(plan, NodeId{}, [this, id] { calls_.remove(id); });
}

void FaultPlan::command_server(Plan& plan) {
    tell(plan, "begin", NodeId{});
    commands_.push_back(&plan);
}

void FaultPlan::run_commands() {
    while (!commands_.empty() || !stops_.empty()) {
        const std::vector<Plan*> commands = std::exchange(commands_, {});
        const auto stops = std::exchange(stops_, {});
        for (Plan* plan : commands) obey(*plan);
        for (const auto& [plan, node] : stops) stop(*plan, node);
    }
}

void FaultPlan::obey(Plan& plan) {
    const Fault& fault = plan.fault;
    const NodeId server = plan.kind == FaultKind::config_update ? Topology::kOperator
                          : fault.kind.starts_with("nats.")     ? Topology::kNats
                                                                : Topology::kRedis;
    if (controls_ == nullptr || !nodes_.alive(server)) return;
    const Duration away = fault.duration.value_or(kServerAway);
    std::uint64_t changed = 1;
    nodes_.set_current(server);
    switch (plan.kind) {
        case FaultKind::redis_restart: controls_->redis_restart(away); break;
        case FaultKind::redis_failover: {
            const Duration lag = fault.latency.draw(plan.stream);
            controls_->redis_failover(lag > Duration::zero() ? lag : replica_lag_, away);
            break;
        }
        case FaultKind::redis_script_flush: changed = controls_->redis_script_flush(); break;
        case FaultKind::redis_evict: changed = controls_->redis_evict(fault.keys.empty() ? "*" : fault.keys); break;
        case FaultKind::redis_corrupt: changed = controls_->redis_corrupt(fault.keys); break;
        case FaultKind::nats_restart: controls_->nats_restart(away); break;
        case FaultKind::nats_power_cut: controls_->nats_power_cut(away); break;
        default:
            changed = 0;  // as long as no scheduler has heard of it
            controls_->config_update(fault, [&plan] { ++plan.count.effective; });
            break;
    }
    nodes_.set_current(NodeId{});
    plan.count.effective += changed;
}

void FaultPlan::hold(Plan& plan, NodeId node, std::function<void()> undo) {
    const Id id = ++last_id_;
    in_force_.emplace(id, InForce{&plan, node, std::move(undo)});
    if (plan.fault.duration) queue_.push(queue_.now() + *plan.fault.duration, NodeId{}, [this, id] { end(id); });
}

void FaultPlan::end(Id id) {
    const auto found = in_force_.extract(id);
    if (found.empty()) return;
    tell(*found.mapped().plan, "end", found.mapped().node);
    found.mapped().undo();
}

void FaultPlan::heal(Heal how) {
    healed_ = true;
    NodeSet core;
    if (how == Heal::core) {
        core = draw_core();
        network_.links().spare(core);
    }
    std::vector<Id> ending;
    for (const auto& [id, active] : in_force_) {
        const FaultKind kind = active.plan->kind;
        const bool about_node = active.node.valid();
        const bool about_links =
            kind == FaultKind::partition || kind == FaultKind::slow_link || kind == FaultKind::lossy_link;
        if (how == Heal::stay_down && (kind == FaultKind::crash || kind == FaultKind::stop)) continue;
        if (how == Heal::core && about_links) continue;  // only the core is spared
        if (how == Heal::core && about_node && !core[static_cast<std::size_t>(active.node.value)]) continue;
        ending.push_back(id);
    }
    for (const Id id : ending) end(id);
    // What stays broken stays so: nothing of it ends by itself later.
    in_force_.clear();
    network_.links_changed();
}

bool FaultPlan::will_change() const {
    return std::ranges::any_of(in_force_,
                               [](const auto& entry) { return entry.second.plan->fault.duration.has_value(); });
}

NodeSet FaultPlan::draw_core() {
    NodeSet core(topology_.size(), true);
    fakes::Rng stream(seed_, "core");
    std::map<std::pair<NodeRole, int>, std::vector<NodeId>> groups;
    for (const Topology::Entry& node : topology_.nodes()) groups[{node.role, node.worker_group}].push_back(node.id);
    for (auto& [group, members] : groups) {
        for (std::size_t outside = members.size() / 2; outside > 0; --outside) {
            const std::size_t chosen = stream.below(members.size());
            core[static_cast<std::size_t>(members[chosen].value)] = false;
            members.erase(members.begin() + static_cast<std::ptrdiff_t>(chosen));
        }
    }
    return core;
}

std::vector<reports::FaultCount> FaultPlan::counts() const {
    std::vector<reports::FaultCount> all;
    for (const Plan& plan : plans_) all.push_back(plan.count);
    return all;
}

void FaultPlan::tell(const Plan& plan, std::string_view phase, NodeId node) {
    fakes::Event event;
    event.kind = fakes::EventKind::fault;
    event.node = node;
    event.name = plan.fault.kind;
    event.from = phase;
    event.key = plan.fault.pointer;
    trace_.emit(event);
}

std::vector<NodeId> FaultPlan::resolve(std::string_view name, NodeId actor) const {
    if (name.empty() || name == "actor") return actor.valid() ? std::vector{actor} : std::vector<NodeId>{};
    const auto members = topology_.members(name);
    return {members.begin(), members.end()};
}

NodeSet FaultPlan::node_set(std::string_view name, NodeId actor) const {
    NodeSet set(topology_.size());
    for (const NodeId node : resolve(name, actor)) set[static_cast<std::size_t>(node.value)] = true;
    return set;
}

}  // namespace lockstep::sim
