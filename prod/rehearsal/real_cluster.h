// The cluster that a scenario describes, as processes on loopback ports: redis-server, nats-server, the reference kernel
// with the scenario's policy, lockstepd and lockstep-worker. What faults can do to processes is done here.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/testing/server_process.h"
#include "prod/integration/program.h"
#include "sim/scenario/topology.h"

namespace lockstep::prod::rehearsal {

class RealCluster {
public:
    /// Starts Redis and NATS. The scenario and the topology outlive it. `programs`: the folder of our own programs.
    /// Throws std::runtime_error when a server does not start; this and the other calls say what it wrote.
    RealCluster(const sim::Scenario& scenario, const sim::Topology& topology, std::filesystem::path programs);

    /// The servers that it needs and this machine does not have.
    [[nodiscard]] static std::vector<std::string> missing_servers();

    /// Starts the kernel, the workers and the schedulers, and waits until all are ready.
    void start_programs();

    [[nodiscard]] int redis_port() const { return redis_.port(); }
    [[nodiscard]] std::string nats_url() const;

    /// SIGKILL. False: it did not run.
    bool kill(fakes::NodeId node);
    /// Asks a program to end; `ended` tells when it has. False: it did not run.
    bool ask_to_end(fakes::NodeId node);
    [[nodiscard]] bool ended(fakes::NodeId node);
    /// Does nothing when it runs.
    void start(fakes::NodeId node);
    /// SIGSTOP and SIGCONT. False: nothing changed.
    bool freeze(fakes::NodeId node);
    bool thaw(fakes::NodeId node);
    void thaw_all();
    [[nodiscard]] bool running(fakes::NodeId node) const;

    /// Runs `action` while no program of ours runs, so that nothing is said to a server before somebody listens.
    template <class Action>
    void while_all_hold_still(const Action& action) {
        signal_programs(kStop);
        action();
        signal_programs(kContinue);
    }

    /// The node whose process has the connection with this near end, such as 127.0.0.1:40000. Invalid when none has it.
    [[nodiscard]] fakes::NodeId owner_of(std::string_view address) const;

    /// What has been added to the record of executions since the last call: "job time worker" lines.
    [[nodiscard]] std::vector<std::string> new_executions();
    /// The last words of a program.
    [[nodiscard]] std::string last_words(fakes::NodeId node) const;

private:
    static const int kStop;
    static const int kContinue;

    void write_documents();
    void launch(fakes::NodeId node);
    [[nodiscard]] std::vector<std::string> worker_arguments(const sim::Topology::Entry& entry, int launch) const;
    [[nodiscard]] fakes::testing::ServerProcess* server(fakes::NodeId node);
    [[nodiscard]] const fakes::testing::ServerProcess* server(fakes::NodeId node) const;
    [[nodiscard]] testing::Program* program(fakes::NodeId node) const;
    void signal_programs(int number) const;

    const sim::Scenario& scenario_;
    const sim::Topology& topology_;
    const std::filesystem::path programs_folder_;
    fakes::testing::TemporaryFolder folder_;
    fakes::testing::ServerProcess redis_;
    fakes::testing::ServerProcess nats_;
    fakes::testing::ReservedPort kernel_port_;
    testing::Program::Environment environment_;
    std::map<fakes::NodeId, std::unique_ptr<testing::Program>> programs_;
    std::set<fakes::NodeId> frozen_;
    std::size_t executions_read_ = 0;
    int launched_ = 0;
};

}  // namespace lockstep::prod::rehearsal
