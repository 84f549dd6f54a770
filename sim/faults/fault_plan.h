// The faults of a run: when each begins and ends, and what it does. Time-placed ones wait in the event queue, event-placed
// ones listen to the trace and act at once, inside the event: a pause holds back what the node was about to send, a
// partition what was about to leave, a crash takes effect at the end of the step. Commands to the servers themselves, and
// requests to end, wait for the end of the step, too.
//
// Each fault has draws of its own, named after its kind and its time, and by what it hits: taking another one away changes
// nothing in what this one does.
//
// A fault that ends (it has a duration, or all is healed) undoes itself: what crashed restarts, what was paused goes on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "fakes/rng.h"
#include "reports/run_report.h"
#include "sim/faults/call_faults.h"
#include "sim/faults/server_controls.h"
#include "sim/faults/trigger_matcher.h"
#include "sim/world/lifecycle.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class FaultPlan final : public EventObserver {
public:
    /// What remains broken after `heal`.
    enum class Heal : std::uint8_t {
        all,        // nothing
        core,       // half of the replicas and of each worker group, rounded down; they stay as they are
        stay_down,  // nodes that are down
    };

    FaultPlan(EventQueue& queue, const Topology& topology, Nodes& nodes, Lifecycle& lifecycle, Network& network,
              fakes::Trace& trace, std::uint64_t seed);

    /// Arms a fault. A time in the past means now. REQUIRES: its targets are known.
    void add(Fault fault);
    /// Without controls, faults on whole servers have no effect.
    void set_controls(ServerControls& controls) { controls_ = &controls; }
    /// How far behind its replica is when redis fails over, unless the fault says so itself.
    void set_replica_lag(Duration lag) { replica_lag_ = lag; }

    /// Ends every fault in force and disarms the rest. REQUIRES: between events.
    void heal(Heal how);
    /// Faults that have not begun by now never will. What is in force stays.
    void disarm() { healed_ = true; }
    /// Whether anything is in force that will end by itself.
    [[nodiscard]] bool will_change() const;
    /// Gives the servers the commands that faults left for the end of the step. The loop calls it after every event.
    void run_commands();

    [[nodiscard]] CallFaults& calls() { return calls_; }
    /// One count for each fault, in the order in which they were added.
    [[nodiscard]] std::vector<reports::FaultCount> counts() const;

    void on_event(const fakes::Event& event, Time now) override;

private:
    struct Plan {
        Fault fault;
        fakes::KeyedRng draws;
        reports::FaultCount count;
        std::optional<TriggerMatcher> trigger;
    };
    /// One thing in force that has to be undone.
    struct InForce {
        Plan* plan;
        NodeId node;  // the one it concerns; invalid when it is not about a single node
        std::function<void()> undo;
    };
    using Id = std::uint64_t;
    /// The clock of a node: what it does by itself, and what faults make of it. The one that began last counts.
    struct Drifts {
        Drift own;
        std::map<Id, Drift> in_force;  // by begin
    };

    // How a kind comes about: by the part that it derives from (sim/scenario/fault.h).
    void begin(Plan& plan, NodeId actor);
    void begin(Plan& plan, const faults::OfNode& fault, NodeId actor);
    void begin(Plan& plan, const faults::OfLink& fault, NodeId actor);
    template <std::derived_from<faults::OfCalls> Kind>
    void begin(Plan& plan, const Kind& fault, NodeId actor);
    template <std::derived_from<faults::OfWorkers> Kind>
    void begin(Plan& plan, const Kind& fault, NodeId actor);
    void begin(Plan& plan, const faults::OfServer& fault, NodeId actor);
    void begin(Plan& plan, const faults::NatsNoQuorum& fault, NodeId actor);
    void begin(Plan& plan, const faults::RedisReplicaStalls& fault, NodeId actor);
    void begin(Plan& plan, const faults::RedisTwoPrimaries& fault, NodeId actor);

    /// What each kind does. In the source only: a new one needs no line here.
    struct Deeds;
    void stop(Plan& plan, NodeId node);
    void restart_later(Plan& plan, NodeId node);

    template <class Kind>
    void disturb_calls(Plan& plan, const Kind& fault, NodeSet workers = {});

    void run_command(Plan& plan);

    void hold(Plan& plan, NodeId node, std::function<void()> undo);
    void end(Id id);
    /// Whether it made a difference.
    bool set_drift(Node& node);
    void tell(const Plan& plan, std::string_view phase, NodeId node);

    [[nodiscard]] std::vector<NodeId> resolve(std::string_view name, NodeId actor) const;
    [[nodiscard]] NodeSet node_set(std::string_view name, NodeId actor) const;
    [[nodiscard]] NodeSet draw_core();

    EventQueue& queue_;
    const Topology& topology_;
    Nodes& nodes_;
    Lifecycle& lifecycle_;
    Network& network_;
    fakes::Trace& trace_;
    const std::uint64_t seed_;
    CallFaults calls_;
    ServerControls* controls_ = nullptr;
    Duration replica_lag_{};

    std::deque<Plan> plans_;  // never shrinks: the rest points into it
    std::array<std::vector<Plan*>, fakes::kEventKinds> by_event_;
    std::map<Id, InForce> in_force_;
    Id last_id_ = 0;
    std::map<NodeId, Drifts> drifts_;
    Id last_drift_ = 0;
    std::vector<std::function<void()>> commands_;  // to servers: between two events
    std::vector<std::pair<Plan*, NodeId>> stops_;
    bool healed_ = false;  // nothing begins any more
};

}  // namespace lockstep::sim
