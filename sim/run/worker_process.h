// A simulated worker as a process of its node.
#pragma once

#include <memory>

#include "fakes/nats/client.h"
#include "fakes/redis/client.h"
#include "fakes/worker/worker.h"
#include "sim/run/replica_process.h"
#include "sim/world/lifecycle.h"

namespace lockstep::sim {

class WorkerProcess final : public Process {
public:
    /// All arguments outlive the process.
    WorkerProcess(fakes::World& world, Node& node, const Servers& servers, Lifecycle& lifecycle,
                  fakes::WorkerConfig config)
        : world_(world), node_(node), servers_(servers), lifecycle_(lifecycle), config_(std::move(config)) {}

    void start() override { life_ = std::make_unique<Life>(*this); }
    void crash() override { life_.reset(); }
    /// From the next start on.
    void reconfigure(const WorkerChange& change);

private:
    struct Life {
        explicit Life(WorkerProcess& process)
            : redis(process.world_, process.node_.id, process.servers_.redis),
              nats(process.world_, process.servers_.nats, process.node_.id),
              worker(process.world_, process.node_.id, process.node_.executor, nats, redis, process.config_,
                     [&process] { process.lifecycle_.crash(process.node_.id); }) {}
        fakes::redis::RedisClient redis;
        fakes::NatsClient nats;
        fakes::Worker worker;
    };

    fakes::World& world_;
    Node& node_;
    Servers servers_;
    Lifecycle& lifecycle_;
    fakes::WorkerConfig config_;
    std::unique_ptr<Life> life_;
};

/// The configuration of the worker with this name and place in its group. `late_by` makes a late result come after every
/// timeout of the scheduler.
[[nodiscard]] fakes::WorkerConfig worker_config(const WorkerGroup& group, const std::string& name,
                                                const engine::Tunables& tunables);

}  // namespace lockstep::sim
