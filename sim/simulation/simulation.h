// The simulated world: one thread, one queue of events, nodes, a network, faults, and a trace of what happened. It
// implements what the fakes may ask of the world; whoever assembles a cluster puts processes on its nodes and runs it.
//
//     Simulation sim(scenario, seed, {});
//     sim.lifecycle().host(node, process);     // for each node that runs something
//     sim.trace().add_observer(rule);
//     sim.start();
//     sim.run(limit, [&] { return quiet(); });
//     sim.close();                             // before what the processes and fakes are made of goes away
//
// Same scenario, same seed, same options, same processes: same digest.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fakes/world.h"
#include "sim/faults/fault_plan.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/topology.h"
#include "sim/world/event_queue.h"
#include "sim/world/lifecycle.h"
#include "sim/world/metric_store.h"
#include "sim/world/network.h"
#include "sim/world/node.h"
#include "sim/world/node_ports.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

struct SimulationOptions {
    TieOrder ties = TieOrder::drawn;
    /// The least level of log messages that reach the observers; nothing = none does. Does not change the digest.
    std::optional<engine::LogLevel> log_level;
    /// Asked every some hundred steps, even if no time passes in them: whether the run is to end, say since a signal has come. May be
    /// empty.
    std::function<bool()> interrupt;
};

/// What must not happen, and ended the run.
struct Defect {
    Time at{};
    NodeId node;  // whose step it was; invalid for the world's own
    std::string what;
    bool invariant = false;  // a broken INVARIANT; else a defect of the harness
};

class Simulation final : public fakes::World, private DefectSink {
public:
    enum class End : std::uint8_t {
        done,     // the check said so
        limit,    // the time is over
        idle,     // nothing is left to happen
        stopped,  // `stop` was called, or there is a defect
    };

    /// Arms the faults of the scenario. Its chaos is not drawn here: add what it comes to with `faults().add`.
    Simulation(const Scenario& scenario, std::uint64_t seed, SimulationOptions options);
    ~Simulation() override;

    /// Starts the hosted processes. Once, before `run`.
    void start() { lifecycle_.start_all(); }
    /// Runs events up to and including `limit`. `done` (may be empty) is asked about once per virtual second, between
    /// events; it may heal, stop and look around.
    End run(Time limit, const std::function<bool()>& done = {});
    /// Runs for this long, and lets the time pass even when nothing happens.
    End run_for(Duration duration);
    /// Ends `run` after the present event. The first reason stays.
    void stop(std::string reason);
    /// Destroys everything that is still queued, and every connection. Nothing happens in this world afterwards.
    void close();

    [[nodiscard]] Time now() const { return queue_.now(); }
    [[nodiscard]] const std::string& stop_reason() const { return stop_reason_; }
    /// Ended by `SimulationOptions::interrupt`.
    [[nodiscard]] bool interrupted() const { return interrupted_; }
    [[nodiscard]] const std::optional<Defect>& defect() const { return defect_; }
    /// Entries run so far; more than events, less than the work of a real machine.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

    [[nodiscard]] const Topology& topology() const { return topology_; }
    [[nodiscard]] SimTrace& trace() override { return trace_; }
    [[nodiscard]] const SimTrace& trace() const { return trace_; }
    [[nodiscard]] FaultPlan& fault_plan() { return fault_plan_; }
    [[nodiscard]] Lifecycle& lifecycle() { return lifecycle_; }
    [[nodiscard]] Network& network() { return network_; }
    [[nodiscard]] Nodes& nodes() { return nodes_; }
    [[nodiscard]] MetricStore& metric_store() { return metric_store_; }
    /// How often each `reached` mark was passed.
    [[nodiscard]] const NodeLog::Marks& marks() const { return marks_; }

    /// The ports of a node, for its process. They serve every incarnation.
    [[nodiscard]] engine::Executor& executor(NodeId node) { return nodes_[node].executor; }
    [[nodiscard]] engine::Clock& clock(NodeId node) { return nodes_[node].clock_port; }
    [[nodiscard]] engine::Entropy& entropy(NodeId node) { return nodes_[node].entropy; }
    [[nodiscard]] engine::Log& log(NodeId node) { return logs_.at(static_cast<std::size_t>(node.value)); }
    [[nodiscard]] engine::Metrics& metrics(NodeId node) { return metrics_.at(static_cast<std::size_t>(node.value)); }

    // fakes::World
    [[nodiscard]] WallTime wall(NodeId node) const override;
    [[nodiscard]] MonoTime monotonic(NodeId node) const override;
    TimerId after(NodeId node, Duration delay, Action action) override;
    void cancel(TimerId timer) override { queue_.cancel(timer); }
    void listen(NodeId node, std::string_view service, fakes::Server& server) override;
    void connect(NodeId client, NodeId server, std::string_view service, fakes::ConnectionListener& listener,
                 std::function<void(std::shared_ptr<fakes::Connection>)> done) override;
    fakes::KeyedRng& draws(std::string_view family) override;
    fakes::Faults& faults() override { return fault_plan_.calls(); }

private:
    [[nodiscard]] bool to_be_interrupted() const;
    void step();
    void run_entry(const EventQueue::Due& due, Node& node);
    void take_step(const EventQueue::Due& due, Node& node);
    /// Wakes a node with a service rate when its present step ends.
    void serve_later(Node& node);
    void serve_next(Node& node);
    void settle();
    void on_defect(NodeId node, std::exception_ptr error) override;

    const std::uint64_t seed_;
    const SimulationOptions options_;
    const Topology topology_;
    std::map<std::string, fakes::KeyedRng, std::less<>> draws_;
    Schedule schedule_;
    EventQueue queue_;
    Nodes nodes_;
    SimTrace trace_;
    MetricStore metric_store_;
    Network network_;
    Lifecycle lifecycle_;
    FaultPlan fault_plan_;
    NodeLog::Marks marks_;
    std::deque<NodeLog> logs_;
    std::deque<NodeMetrics> metrics_;

    Time next_check_{};
    std::uint64_t steps_ = 0;
    bool stopped_ = false;
    bool interrupted_ = false;
    bool closed_ = false;
    std::string stop_reason_;
    std::optional<Defect> defect_;
};

}  // namespace lockstep::sim
