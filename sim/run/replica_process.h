// A replica as a process of its node: a scheduler, a workflow engine, or both with the same ports, which are clients of the
// simulated servers. A crash destroys all of it where it stands; a start builds it anew from nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/scope.h"
#include "engine/scheduler/scheduler.h"
#include "engine/workflow/workflow_engine.h"
#include "fakes/kernel/client.h"
#include "fakes/kernel/server.h"
#include "fakes/nats/client.h"
#include "fakes/redis/client.h"
#include "sim/scenario/scenario.h"
#include "sim/world/node.h"

namespace lockstep::sim {

/// What every process of a run connects to.
struct Servers {
    fakes::redis::RedisServer& redis;
    fakes::NatsServer& nats;
    fakes::KernelServer& kernel;
};

/// For processes that are none of the engine's: the metrics of a run are those of the schedulers and workflow engines.
struct Uncounted final : engine::Metrics {
    void add(engine::Metric, engine::LabelValues, double) override {}
    void set(engine::Metric, double, engine::LabelValues) override {}
    void observe(engine::Metric, double, engine::LabelValues) override {}
};

/// At least one of them.
struct Roles {
    bool scheduler = true;
    bool workflow = false;
};

class ReplicaProcess final : public Process {
public:
    /// What a process calls that cannot set itself up, with its error.
    using Fails = std::function<void(std::string_view why)>;

    /// All arguments outlive the process. A workflow engine takes its tunables and mechanisms from the same configuration. `fails` ends
    /// the node's process with an error when the present step is over, as a daemon that cannot set itself up does, and has it started
    /// again.
    ReplicaProcess(fakes::World& world, Node& node, const Servers& servers, engine::SchedulerConfig config, Roles roles,
                   engine::Metrics& metrics, engine::Log& log, Fails fails);

    void start() override;
    void crash() override { life_.reset(); }
    /// As the daemon does on SIGTERM: drains, hangs up, ends.
    void stop(std::function<void()> ended) override;

    /// What it starts with from its next start on.
    void reconfigure(const NamedTunables& named) { put_in_force(named, config_.tunables, config_.pinned); }

    /// Handlers at work now; none while it is down.
    [[nodiscard]] std::size_t in_flight() const;

private:
    /// Everything that a crash takes.
    struct Life {
        explicit Life(ReplicaProcess& process);
        fakes::redis::RedisClient redis;
        fakes::NatsClient nats;
        fakes::KernelClient kernel;
        engine::Ports ports;
        std::shared_ptr<engine::Room> room = std::make_shared<engine::Room>();
        std::unique_ptr<engine::Scheduler> scheduler;
        bool schedules = false;  // its start has succeeded
        std::unique_ptr<engine::WorkflowEngine> workflows;
        bool runs_workflows = false;  // theirs has
        engine::Scope boot;
    };

    [[nodiscard]] engine::Task<void> boot();
    /// Why it cannot; empty: it has started.
    [[nodiscard]] engine::Task<std::string> boot_scheduler();
    [[nodiscard]] engine::Task<std::string> boot_workflows();
    [[nodiscard]] engine::Task<void> drain(std::function<void()> ended);

    fakes::World& world_;
    Node& node_;
    Servers servers_;
    engine::SchedulerConfig config_;
    const Roles roles_;
    engine::Metrics& metrics_;
    engine::Log& log_;
    const Fails fails_;
    std::unique_ptr<Life> life_;
};

}  // namespace lockstep::sim
