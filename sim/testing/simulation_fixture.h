// A small cluster without servers or engine in it: two schedulers, two workers, a constant link latency of 1 ms, and
// words for what the tests of the world do.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/catalogue.h"
#include "sim/simulation/simulation.h"

namespace lockstep::sim::testing {

using namespace std::chrono_literals;

inline Scenario small_scenario() {
    Scenario scenario;
    scenario.cluster.schedulers = 2;
    WorkerGroup workers;
    workers.id = "w";
    workers.count = 2;
    scenario.cluster.workers = {workers};
    scenario.cluster.network_latency = Distribution::constant(1ms);
    return scenario;
}

/// Writes down what happened to it.
struct Listener final : fakes::ConnectionListener {
    int broken = 0;
    void on_broken() override { ++broken; }
};

/// Accepts everyone and keeps the connections.
struct AcceptingServer final : fakes::Server {
    struct Accepted {
        std::shared_ptr<fakes::Connection> connection;
        NodeId client;
        std::unique_ptr<Listener> listener;
    };
    std::vector<Accepted> accepted;

    fakes::ConnectionListener& on_accept(std::shared_ptr<fakes::Connection> connection, NodeId client) override {
        accepted.push_back({std::move(connection), client, std::make_unique<Listener>()});
        return *accepted.back().listener;
    }
};

/// A process made of two functions.
struct TestProcess final : Process {
    std::function<void()> on_start = [] {};
    std::function<void()> on_crash = [] {};
    std::function<void(std::function<void()>)> on_stop = [](const std::function<void()>& ended) { ended(); };
    int starts = 0;
    int crashes = 0;
    void start() override {
        ++starts;
        on_start();
    }
    void crash() override {
        ++crashes;
        on_crash();
    }
    void stop(std::function<void()> ended) override { on_stop(std::move(ended)); }
};

/// Keeps the kinds of events, with the names of their nodes.
struct Recorder final : EventObserver {
    explicit Recorder(const Topology& t) : topology(t) {}
    const Topology& topology;
    std::vector<std::string> lines;
    void on_event(const fakes::Event& event, Time /*now*/) override {
        lines.push_back(std::string(fakes::to_string(event.kind)) + " " + std::string(topology.name(event.node)));
    }
    [[nodiscard]] long count(const std::string& line) const { return std::ranges::count(lines, line); }
};

class SimulationTest : public ::testing::Test {
protected:
    explicit SimulationTest(Scenario scenario = small_scenario(), std::uint64_t seed = 1)
        : sim(scenario, seed, {}), events(sim.topology()) {
        sim.trace().add_observer(events);
        sim.listen(Topology::kRedis, "redis", server);
    }
    ~SimulationTest() override { sim.close(); }

    [[nodiscard]] NodeId node(std::string_view name) const { return sim.topology().find(name); }
    [[nodiscard]] Duration elapsed() const { return sim.now().time_since_epoch(); }
    void crash(NodeId id) {
        sim.lifecycle().crash(id);
        sim.lifecycle().bury();
    }
    /// A connection from `client` to the server on the node redis.
    std::shared_ptr<fakes::Connection> connect(NodeId client, Listener& listener) {
        std::shared_ptr<fakes::Connection> made;
        sim.connect(client, Topology::kRedis, "redis", listener, [&](auto connection) { made = connection; });
        sim.run_for(10ms);
        return made;
    }
    static Fault fault(std::string_view kind, Duration at, std::optional<Duration> duration = {}) {
        Fault made;
        made.what = find_fault(kind)->make();
        made.at = at;
        made.duration = duration;
        return made;
    }
    /// An event that the node `name` causes.
    bool tell(fakes::EventKind kind, std::string_view name, fakes::When when = fakes::When::applied,
              std::string_view subject = {}, std::string_view job = {}) {
        fakes::Event event;
        event.kind = kind;
        event.when = when;
        event.node = node(name);
        event.subject = subject;
        event.job = job;
        return sim.trace().emit(event);
    }
    reports::FaultCount only_count() { return sim.fault_plan().counts().at(0); }

    Simulation sim;
    Recorder events;
    AcceptingServer server;
    const NodeId scheduler = node("scheduler-0");
    const NodeId other = node("scheduler-1");
};

}  // namespace lockstep::sim::testing
