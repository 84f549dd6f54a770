// The cluster that a scenario describes, built on the nodes of a simulation: servers, schedulers, workflow engines, result readers,
// workers, gateway and operator. It is also the hand by which faults reach the servers as a whole.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/config/pools.h"
#include "fakes/kernel/server.h"
#include "fakes/nats/server.h"
#include "fakes/redis/server.h"
#include "sim/run/gateway_process.h"
#include "sim/run/replica_process.h"
#include "sim/run/result_reader_process.h"
#include "sim/run/run_plan.h"
#include "sim/run/server_processes.h"
#include "sim/run/worker_process.h"
#include "sim/simulation/simulation.h"

namespace lockstep::sim {

class SimulatedCluster final : public ServerControls, private EventObserver {
public:
    /// Builds everything; nothing runs before `simulation.start()`. Throws std::runtime_error when a document of the scenario
    /// cannot be parsed, which a checked scenario's can.
    SimulatedCluster(Simulation& simulation, const Scenario& scenario);

    [[nodiscard]] fakes::redis::RedisServer& redis() { return redis_; }
    [[nodiscard]] fakes::NatsServer& nats() { return nats_; }
    /// Nothing is left to submit, cancel or approve.
    [[nodiscard]] bool load_is_over() const { return plan_.open() == 0 && runs_.open() == 0; }
    /// What people decided about jobs and runs, and nothing came of it.
    [[nodiscard]] std::vector<std::string> in_vain() const;
    [[nodiscard]] std::size_t handlers_in_flight() const;
    /// Messages that consumers have taken off the streams since the beginning.
    [[nodiscard]] std::uint64_t messages_done() const { return messages_done_; }
    /// Redis remembers dead letters that the bus has not been told of, outputs that are still to be scanned, or what is to be done
    /// about runs.
    [[nodiscard]] bool has_backlog();
    /// It remembers what people have asked of runs, or what is still to be sent for them.
    [[nodiscard]] bool has_run_backlog();

    void redis_restart(engine::Duration loading) override { redis_.restart(loading); }
    void redis_failover(engine::Duration lag, engine::Duration takes) override { redis_.failover(lag, takes); }
    bool redis_replica_stalls() override { return redis_.stall_replica(); }
    void redis_replica_goes_on() override { redis_.let_replica_go_on(); }
    void redis_two_primaries(engine::Duration lag, std::vector<fakes::NodeId> with_the_old) override {
        redis_.two_primaries(lag, std::move(with_the_old));
    }
    void redis_one_primary() override { redis_.one_primary(); }
    std::uint64_t redis_script_flush() override;
    std::uint64_t redis_evict(std::string_view keys) override { return redis_.evict(keys); }
    std::uint64_t redis_corrupt(std::string_view keys) override { return redis_.corrupt(keys); }
    void nats_restart(engine::Duration down) override { nats_.restart(down); }
    std::uint64_t nats_new_leader(bool forgotten) override;
    void nats_quorum_lost() override { nats_.lose_quorum(); }
    void nats_quorum_back() override { nats_.regain_quorum(); }
    void nats_power_cut(engine::Duration down) override { nats_.power_cut(down); }
    void config_update(const faults::ConfigUpdate& fault, std::function<void()> effective) override;
    void reconfigure(fakes::NodeId node, const faults::Restarting& fault) override;

private:
    /// What a replica calls that cannot set itself up: its supervisor starts it again, and the operator reads why.
    [[nodiscard]] ReplicaProcess::Fails failing(Simulation& simulation, fakes::NodeId node);
    void build_schedulers(Simulation& simulation, const Scenario& scenario);
    void build_workflow_engines(Simulation& simulation, const Scenario& scenario);
    void build_result_readers(Simulation& simulation, const Scenario& scenario);
    void build_workers(Simulation& simulation, const Scenario& scenario);
    /// A scheduler that puts settings in force, or refuses them, says so, and the server which messages are done with.
    void on_event(const fakes::Event& event, Time now) override;

    fakes::redis::RedisServer redis_;
    fakes::NatsServer nats_;
    fakes::KernelServer kernel_;
    Servers servers_;
    RedisProcess redis_process_;
    NatsProcess nats_process_;
    KernelProcess kernel_process_;
    std::map<fakes::NodeId, std::unique_ptr<ReplicaProcess>> schedulers_;
    std::vector<std::unique_ptr<ReplicaProcess>> workflow_engines_;
    std::vector<std::unique_ptr<ResultReaderProcess>> result_readers_;
    std::map<fakes::NodeId, std::unique_ptr<WorkerProcess>> workers_;
    fakes::LoadPlan plan_;
    RunPlan runs_;
    std::unique_ptr<GatewayProcess> gateway_;
    std::unique_ptr<OperatorProcess> operator_;
    std::vector<std::function<void()>> unnoticed_updates_;
    std::uint64_t messages_done_ = 0;
};

}  // namespace lockstep::sim
