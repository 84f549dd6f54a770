#include "sim/faults/fault_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::sim {

using namespace faults;

namespace {

/// How long a server stays away when the file does not say.
constexpr Duration kServerAway = std::chrono::seconds{1};

Duration away(const Fault& fault) { return fault.duration.value_or(kServerAway); }

/// Calls `visit` with what the fault does, which is one of the kinds that derive from `Part`.
template <class Part, class Visit>
void visit_part(const Fault& fault, Visit visit) {
    std::visit(
        [&]<class Kind>(const Kind& kind) {
            if constexpr (std::derived_from<Kind, Part>) visit(kind);
        },
        fault.what);
}

// The server that a command goes to.
NodeId server_for(const ConfigUpdate& /*fault*/) { return Topology::kOperator; }
NodeId server_for(const OfNats& /*fault*/) { return Topology::kNats; }
NodeId server_for(const OfRedis& /*fault*/) { return Topology::kRedis; }

}  // namespace

/// What each kind does.
struct FaultPlan::Deeds {
    static void happen(FaultPlan& all, Plan& plan, const Crash& /*fault*/, NodeId node) {
        if (all.lifecycle_.crash(node)) all.restart_later(plan, node);
    }

    static void happen(FaultPlan& all, Plan& plan, const Stop& /*fault*/, NodeId node) {
        all.stops_.emplace_back(&plan, node);
    }

    static void happen(FaultPlan& all, Plan& plan, const Pause& /*fault*/, NodeId node) {
        if (!all.lifecycle_.pause(node, plan.count.effective)) return;
        all.hold(plan, node, [&all, &plan, node] { all.lifecycle_.resume(node, plan.count.effective); });
    }

    static void happen(FaultPlan& all, Plan& plan, const ClockJump& fault, NodeId id) {
        Node& node = all.nodes_[id];
        const Duration by = fault.by;
        node.clock.jump(by);
        if (by != Duration::zero()) ++plan.count.effective;
        // Without a duration nobody sets the clock right again, healing included: it is wrong, not broken.
        if (plan.fault.duration) all.hold(plan, id, [&node, by] { node.clock.jump(-by); });
    }

    static void happen(FaultPlan& all, Plan& plan, const ClockDrift& fault, NodeId id) {
        Node& node = all.nodes_[id];
        std::map<Id, Drift>& drifts =
            all.drifts_.try_emplace(node.id, Drifts{node.clock.drift(), {}}).first->second.in_force;
        const Id number = ++all.last_drift_;
        drifts.emplace(number, Drift::from_ppm(fault.ppm));
        if (all.set_drift(node)) ++plan.count.effective;
        all.hold(plan, node.id, [&all, &node, number] {
            all.drifts_.at(node.id).in_force.erase(number);
            all.set_drift(node);
        });
    }

    static void shape(LinkFault& link, const Partition& fault) {
        link.kind = LinkFault::Kind::cut;
        link.a_to_b = fault.direction != "b_to_a";
        link.b_to_a = fault.direction != "a_to_b";
    }

    static void shape(LinkFault& link, const SlowLink& fault) {
        link.kind = LinkFault::Kind::slow;
        link.latency = fault.latency;
    }

    static void shape(LinkFault& link, const LossyLink& fault) {
        link.kind = LinkFault::Kind::lossy;
        link.rate = fault.rate;
    }

    // Each gives its order to the server that it names, and says how much that has changed.

    static std::uint64_t order(FaultPlan& all, Plan& plan, const RedisRestart& /*fault*/) {
        all.controls_->redis_restart(away(plan.fault));
        return 1;
    }

    static std::uint64_t order(FaultPlan& all, Plan& plan, const RedisFailover& /*fault*/) {
        all.controls_->redis_failover(all.replica_lag_, away(plan.fault));
        return 1;
    }

    static std::uint64_t order(FaultPlan& all, Plan& /*plan*/, const RedisScriptFlush& /*fault*/) {
        return all.controls_->redis_script_flush();
    }

    static std::uint64_t order(FaultPlan& all, Plan& /*plan*/, const RedisEvict& fault) {
        return all.controls_->redis_evict(fault.keys.empty() ? "*" : fault.keys);
    }

    static std::uint64_t order(FaultPlan& all, Plan& /*plan*/, const RedisCorrupt& fault) {
        return all.controls_->redis_corrupt(fault.keys);
    }

    static std::uint64_t order(FaultPlan& all, Plan& plan, const NatsRestart& /*fault*/) {
        all.controls_->nats_restart(away(plan.fault));
        return 1;
    }

    static std::uint64_t order(FaultPlan& all, Plan& plan, const NatsPowerCut& /*fault*/) {
        all.controls_->nats_power_cut(away(plan.fault));
        return 1;
    }

    static std::uint64_t order(FaultPlan& all, Plan& /*plan*/, const NatsNewLeader& fault) {
        return all.controls_->nats_new_leader(fault.in_hand == "forgotten");
    }

    static std::uint64_t order(FaultPlan& all, Plan& plan, const ConfigUpdate& fault) {
        all.controls_->config_update(fault, [&plan] { ++plan.count.effective; });
        return 0;  // as long as no scheduler has heard of it
    }
};

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
    const auto twins = std::ranges::count_if(plans_, [&](const Plan& other) {
        return other.fault.what.index() == fault.what.index() && other.fault.at == fault.at;
    });
    fakes::KeyedRng draws(seed_, fmt::format("fault:{}:{}:{}", fault.kind(), fault.at.count(), twins));
    reports::FaultCount count{.kind = std::string(fault.kind()), .pointer = fault.pointer, .armed = 1};
    Plan& plan = plans_.emplace_back(Plan{std::move(fault), std::move(draws), std::move(count), {}});
    if (plan.fault.on) {
        plan.trigger.emplace(*plan.fault.on, topology_);
        by_event_[static_cast<std::size_t>(plan.fault.on->event)].push_back(&plan);
        return;
    }
    const Time when = std::max(queue_.now(), Time{plan.fault.at});
    queue_.push(when, NodeId{}, [this, &plan] { begin(plan, NodeId{}); });
}

void FaultPlan::on_event(const fakes::Event& event, Time now) {
    // By index: what begins here tells of events of its own.
    const std::vector<Plan*>& listening = by_event_[static_cast<std::size_t>(event.kind)];
    for (std::size_t i = 0; i < listening.size(); ++i) {
        Plan& plan = *listening[i];
        if (plan.trigger->hit(event, now)) begin(plan, event.node);
    }
}

void FaultPlan::begin(Plan& plan, NodeId actor) {
    if (healed_) return;
    ++plan.count.fired;
    std::visit([&](const auto& fault) { begin(plan, fault, actor); }, plan.fault.what);
}

void FaultPlan::begin(Plan& plan, const OfNode& fault, NodeId actor) {
    for (const NodeId node : resolve(fault.target, actor)) {
        tell(plan, "begin", node);
        visit_part<OfNode>(plan.fault, [&](const auto& kind) { Deeds::happen(*this, plan, kind, node); });
    }
}

void FaultPlan::stop(Plan& plan, NodeId node) {
    if (lifecycle_.stop(node)) restart_later(plan, node);
}

void FaultPlan::restart_later(Plan& plan, NodeId node) {
    const auto* with = plan.fault.part<Restarting>();
    const bool reconfigures = !with->config.empty() || !with->worker.empty();
    // Other settings take effect when somebody has started with them.
    if (!reconfigures) ++plan.count.effective;
    hold(plan, node, [this, &plan, with, node, reconfigures] {
        if (reconfigures && controls_ != nullptr) controls_->reconfigure(node, *with);
        if (lifecycle_.restart(node) && reconfigures) ++plan.count.effective;
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

void FaultPlan::begin(Plan& plan, const OfLink& fault, NodeId actor) {
    LinkFault link;
    visit_part<OfLink>(plan.fault, [&](const auto& kind) { Deeds::shape(link, kind); });
    link.a = node_set(fault.a, actor);
    link.b = node_set(fault.b, actor);
    if (fault.b.empty()) {
        link.b = link.a;
        link.b.flip();  // cut off from everyone else
    }
    link.effective = &plan.count.effective;
    link.draws = &plan.draws;
    tell(plan, "begin", NodeId{});
    const LinkFaults::Id id = network_.links().add(std::move(link));
    hold(plan, NodeId{}, [this, id] {
        network_.links().remove(id);
        network_.links_changed();
    });
}

template <class Kind>
void FaultPlan::disturb_calls(Plan& plan, const Kind& fault, NodeSet workers) {
    tell(plan, "begin", NodeId{});
    const CallFaults::Id id = calls_.add(fault, plan.count, plan.draws, std::move(workers));
    hold(plan, NodeId{}, [this, id] { calls_.remove(id); });
}

template <std::derived_from<OfCalls> Kind>
void FaultPlan::begin(Plan& plan, const Kind& fault, NodeId /*actor*/) {
    disturb_calls(plan, fault);
}

template <std::derived_from<OfWorkers> Kind>
void FaultPlan::begin(Plan& plan, const Kind& fault, NodeId actor) {
    disturb_calls(plan, fault, node_set(fault.target, actor));
}

void FaultPlan::begin(Plan& plan, const OfServer& /*fault*/, NodeId /*actor*/) {
    tell(plan, "begin", NodeId{});
    commands_.emplace_back([this, &plan] { run_command(plan); });
}

void FaultPlan::begin(Plan& plan, const RedisReplicaStalls& /*fault*/, NodeId /*actor*/) {
    tell(plan, "begin", NodeId{});
    if (controls_ == nullptr) return;
    plan.count.effective += controls_->redis_replica_stalls() ? 1 : 0;
    hold(plan, NodeId{}, [this] {
        nodes_.set_current(Topology::kRedis);
        controls_->redis_replica_goes_on();
        nodes_.set_current(NodeId{});
    });
}

void FaultPlan::begin(Plan& plan, const RedisTwoPrimaries& fault, NodeId actor) {
    tell(plan, "begin", NodeId{});
    commands_.emplace_back([this, &plan, with_the_old = resolve(fault.target, actor)] {
        if (controls_ == nullptr || !nodes_.alive(Topology::kRedis)) return;
        ++plan.count.effective;
        nodes_.set_current(Topology::kRedis);
        controls_->redis_two_primaries(replica_lag_, with_the_old);
        nodes_.set_current(NodeId{});
        hold(plan, NodeId{}, [this] {
            if (!nodes_.alive(Topology::kRedis)) return;
            nodes_.set_current(Topology::kRedis);
            controls_->redis_one_primary();
            nodes_.set_current(NodeId{});
        });
    });
}

void FaultPlan::begin(Plan& plan, const NatsNoQuorum& /*fault*/, NodeId /*actor*/) {
    tell(plan, "begin", NodeId{});
    if (controls_ == nullptr) return;
    ++plan.count.effective;
    controls_->nats_quorum_lost();
    hold(plan, NodeId{}, [this] {
        nodes_.set_current(Topology::kNats);
        controls_->nats_quorum_back();
        nodes_.set_current(NodeId{});
    });
}

void FaultPlan::run_commands() {
    while (!commands_.empty() || !stops_.empty()) {
        const auto commands = std::exchange(commands_, {});
        const auto stops = std::exchange(stops_, {});
        for (const auto& command : commands) command();
        for (const auto& [plan, node] : stops) stop(*plan, node);
    }
}

void FaultPlan::run_command(Plan& plan) {
    visit_part<OfServer>(plan.fault, [&](const auto& command) {
        const NodeId server = server_for(command);
        if (controls_ == nullptr || !nodes_.alive(server)) return;
        nodes_.set_current(server);
        const std::uint64_t changed = Deeds::order(*this, plan, command);
        nodes_.set_current(NodeId{});
        plan.count.effective += changed;
    });
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
        const Fault& fault = active.plan->fault;
        const bool about_node = active.node.valid();
        const bool about_links = fault.part<OfLink>() != nullptr;
        if (how == Heal::stay_down && fault.part<Restarting>() != nullptr) continue;
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
    event.name = plan.fault.kind();
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
