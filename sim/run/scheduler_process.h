// A scheduler replica as a process of its node: the engine, with clients of the simulated servers as its ports. A crash
// destroys all of it where it stands; a start builds it anew from nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "engine/runtime/scope.h"
#include "engine/scheduler/scheduler.h"
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

class SchedulerProcess final : public Process {
public:
    /// All arguments outlive the process.
    SchedulerProcess(fakes::World& world, Node& node, const Servers& servers, engine::SchedulerConfig config,
                     engine::Metrics& metrics, engine::Log& log);

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
        Life(SchedulerProcess& process);
        fakes::redis::RedisClient redis;
        fakes::NatsClient nats;
        fakes::KernelClient kernel;
        engine::Ports ports;
        std::unique_ptr<engine::Scheduler> scheduler;
        bool serving = false;  // its start has succeeded
        engine::Scope boot;
    };

    [[nodiscard]] engine::Task<void> boot();
    [[nodiscard]] engine::Task<void> drain(std::function<void()> ended);

    fakes::World& world_;
    Node& node_;
    Servers servers_;
    engine::SchedulerConfig config_;
    engine::Metrics& metrics_;
    engine::Log& log_;
    std::unique_ptr<Life> life_;
};

}  // namespace lockstep::sim
