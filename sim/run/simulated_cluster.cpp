#include "sim/run/simulated_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "engine/store/keys.h"
#include "engine/wire/json_text.h"
#include "engine/wire/subjects.h"
#include "engine/workflow/run_keys.h"
#include "fakes/policy/parse.h"
#include "sim/run/supervisor.h"

namespace lockstep::sim {

namespace {

namespace policy = fakes::policy;

fakes::redis::RedisServerOptions redis_options(const Cluster& cluster) {
    fakes::redis::RedisServerOptions options;
    switch (cluster.redis_persistence) {
        case RedisPersistence::none: options.persistence = fakes::redis::Persistence::none; break;
        case RedisPersistence::everysec: options.persistence = fakes::redis::Persistence::everysec; break;
        case RedisPersistence::always: options.persistence = fakes::redis::Persistence::always; break;
    }
    options.replica_lag = cluster.redis_replica_lag;
    return options;
}

fakes::NatsServerOptions nats_options(const Scenario& scenario) {
    const Cluster& cluster = scenario.cluster;
    fakes::NatsServerOptions options;
    options.node = Topology::kNats;
    options.storage.sync_interval = cluster.nats_sync_interval;
    options.max_payload = cluster.nats_max_payload;
    for (fakes::StreamConfig& stream : options.streams)
        if (stream.name == engine::wire::kStreamJobs) stream.max_messages = cluster.nats_jobs_stream_messages;
    options.outgoing.max_pending = cluster.nats_max_pending;
    options.outgoing.bandwidth = cluster.nats_bandwidth;
    // Only a cluster has a leader that another one can follow, and a quorum to lose.
    options.clustered = std::ranges::any_of(scenario.faults, [](const Fault& fault) {
        return fault.part<faults::NatsNewLeader>() != nullptr || fault.part<faults::NatsNoQuorum>() != nullptr;
    });
    return options;
}

[[noreturn]] void refuse(std::string_view document, const policy::ParseErrors& errors) {
    std::string text = fmt::format("the {} cannot be read:", document);
    for (const auto& error : errors) text += fmt::format(" {}: {};", error.path, error.message);
    throw std::runtime_error(text);
}

policy::Evaluator evaluator_of(const Documents& documents) {
    auto document = policy::parse_document(engine::wire::sound_json(documents.policy));
    if (!document) refuse("kernel policy", document.error());
    if (!documents.output_policy.empty()) {
        document = policy::with_output_policy(std::move(*document), engine::wire::sound_json(documents.output_policy));
        if (!document) refuse("output policy", document.error());
    }
    std::string snapshot = policy::snapshot_id(*document, documents.policy);
    return policy::Evaluator(std::move(*document), std::move(snapshot));
}

engine::RoutingTable pools_of(const Documents& documents) {
    auto table = engine::parse_pools(documents.pools);
    if (!table)
        throw std::runtime_error(fmt::format("cluster/pools{}: {}", table.error().pointer, table.error().message));
    return std::move(*table);
}

std::optional<engine::Timeouts> timeouts_of(const Documents& documents) {
    if (documents.timeouts.empty()) return std::nullopt;
    auto timeouts = engine::parse_timeouts(documents.timeouts);
    if (!timeouts)
        throw std::runtime_error(
            fmt::format("cluster/timeouts{}: {}", timeouts.error().front().pointer, timeouts.error().front().message));
    return std::move(*timeouts);
}

engine::Mechanisms mechanisms_of(const Scenario& scenario) {
    engine::Mechanisms mechanisms;
    for (const std::string& name : scenario.without) {
        if (const auto mechanism = engine::find_mechanism(name)) mechanisms.switch_off(*mechanism);
    }
    return mechanisms;
}

}  // namespace

SimulatedCluster::SimulatedCluster(Simulation& simulation, const Scenario& scenario)
    : redis_(simulation, Topology::kRedis, redis_options(scenario.cluster)),
      nats_(simulation, nats_options(scenario)),
      kernel_(simulation, Topology::kKernel, evaluator_of(scenario.cluster.documents),
              {.latency = scenario.cluster.kernel_latency,
               .output_latency = scenario.cluster.kernel_latency,
               .judging_rate = scenario.cluster.kernel_judging_rate}),
      servers_{redis_, nats_, kernel_},
      redis_process_(redis_),
      nats_process_(nats_),
      kernel_process_(kernel_),
      plan_(load_plan_of(scenario)),
      runs_(scenario.load) {
    simulation.lifecycle().host(Topology::kRedis, redis_process_);
    simulation.lifecycle().host(Topology::kNats, nats_process_);
    simulation.lifecycle().host(Topology::kKernel, kernel_process_);
    build_schedulers(simulation, scenario);
    build_workflow_engines(simulation, scenario);
    build_result_readers(simulation, scenario);
    build_workers(simulation, scenario);
    gateway_ =
        std::make_unique<GatewayProcess>(simulation, simulation.nodes()[Topology::kGateway], servers_, plan_, runs_,
                                         scenario.cluster.gateway_writes_redis, simulation.log(Topology::kGateway));
    operator_ = std::make_unique<OperatorProcess>(simulation, simulation.nodes()[Topology::kOperator], servers_, plan_,
                                                  runs_, simulation.log(Topology::kOperator));
    simulation.lifecycle().host(Topology::kGateway, *gateway_);
    simulation.lifecycle().host(Topology::kOperator, *operator_);
    simulation.fault_plan().set_controls(*this);
    simulation.trace().add_observer(*this);
    simulation.fault_plan().set_replica_lag(scenario.cluster.redis_replica_lag);
}

ReplicaProcess::Fails SimulatedCluster::failing(Simulation& simulation, fakes::NodeId node) {
    return [this, &simulation, node](std::string_view why) {
        operator_->read_why(why);
        simulation.lifecycle().fail(node, kSupervisorPause);
    };
}

void SimulatedCluster::build_schedulers(Simulation& simulation, const Scenario& scenario) {
    engine::SchedulerConfig config;
    config.tunables = scenario.cluster.config;
    config.pools = pools_of(scenario.cluster.documents);
    config.pools_document = scenario.cluster.documents.pools;
    config.timeouts = timeouts_of(scenario.cluster.documents);
    config.pinned = scenario.cluster.pinned;
    config.mechanisms = mechanisms_of(scenario);
    for (const fakes::NodeId id : simulation.topology().of_role(NodeRole::scheduler)) {
        config.instance_id = simulation.topology().name(id);
        const Roles roles{.scheduler = true, .workflow = scenario.cluster.schedulers_run_workflows};
        auto process =
            std::make_unique<ReplicaProcess>(simulation, simulation.nodes()[id], servers_, config, roles,
                                             simulation.metrics(id), simulation.log(id), failing(simulation, id));
        simulation.lifecycle().host(id, *process);
        schedulers_.emplace(id, std::move(process));
    }
}

void SimulatedCluster::build_workflow_engines(Simulation& simulation, const Scenario& scenario) {
    engine::SchedulerConfig config;
    config.tunables = scenario.cluster.config;
    config.mechanisms = mechanisms_of(scenario);
    for (const fakes::NodeId id : simulation.topology().of_role(NodeRole::workflow)) {
        const Roles roles{.scheduler = false, .workflow = true};
        workflow_engines_.push_back(std::make_unique<ReplicaProcess>(simulation, simulation.nodes()[id], servers_,
                                                                     config, roles, simulation.metrics(id),
                                                                     simulation.log(id), failing(simulation, id)));
        simulation.lifecycle().host(id, *workflow_engines_.back());
    }
}

void SimulatedCluster::build_result_readers(Simulation& simulation, const Scenario& scenario) {
    for (const fakes::NodeId id : simulation.topology().of_role(NodeRole::result_reader)) {
        result_readers_.push_back(std::make_unique<ResultReaderProcess>(simulation, simulation.nodes()[id], servers_,
                                                                        scenario.cluster.config,
                                                                        mechanisms_of(scenario), simulation.log(id)));
        simulation.lifecycle().host(id, *result_readers_.back());
    }
}

void SimulatedCluster::build_workers(Simulation& simulation, const Scenario& scenario) {
    for (const fakes::NodeId id : simulation.topology().of_role(NodeRole::worker)) {
        const Topology::Entry& entry = simulation.topology().node(id);
        const WorkerGroup& group = scenario.cluster.workers.at(static_cast<std::size_t>(entry.worker_group));
        auto process =
            std::make_unique<WorkerProcess>(simulation, simulation.nodes()[id], servers_, simulation.lifecycle(),
                                            worker_config(group, entry.name, scenario.cluster.config));
        simulation.lifecycle().host(id, *process);
        workers_.emplace(id, std::move(process));
    }
}

std::vector<std::string> SimulatedCluster::in_vain() const {
    std::vector<std::string> all = plan_.in_vain();
    std::ranges::move(runs_.in_vain(), std::back_inserter(all));
    return all;
}

std::size_t SimulatedCluster::handlers_in_flight() const {
    std::size_t handlers = 0;
    for (const auto& [node, scheduler] : schedulers_) handlers += scheduler->in_flight();
    for (const auto& workflows : workflow_engines_) handlers += workflows->in_flight();
    for (const auto& reader : result_readers_) handlers += reader->in_flight();
    return handlers;
}

bool SimulatedCluster::has_backlog() {
    const fakes::redis::Keyspace& keys = redis_.keyspace();
    return keys.find(engine::keys::kOutbox) != nullptr || keys.find(engine::keys::kUndecodableSums) != nullptr ||
           keys.find(engine::keys::kScansPending) != nullptr || has_run_backlog();
}

bool SimulatedCluster::has_run_backlog() {
    const fakes::redis::Keyspace& keys = redis_.keyspace();
    return keys.find(engine::keys::kRunsAsked) != nullptr || keys.find(engine::keys::kRunsToSend) != nullptr;
}

std::uint64_t SimulatedCluster::redis_script_flush() {
    redis_.script_flush();
    return 1;
}

std::uint64_t SimulatedCluster::nats_new_leader(bool forgotten) {
    using InHand = fakes::ConsumerModel::InHand;
    // Those who listen hear of it where nothing was in hand, too.
    return std::max<std::uint64_t>(1, nats_.change_leaders(forgotten ? InHand::forgotten : InHand::stuck));
}

void SimulatedCluster::config_update(const faults::ConfigUpdate& fault, std::function<void()> effective) {
    // Layers are read with every job: there is nobody who would tell that they have changed.
    const bool only_layers =
        fault.pools.empty() && fault.timeouts.empty() && fault.settings.empty() && fault.raw.empty();
    if (only_layers)
        effective();
    else
        unnoticed_updates_.push_back(std::move(effective));
    operator_->change_settings({fault.pools, fault.timeouts, fault.settings, fault.raw, fault.layers});
}

void SimulatedCluster::reconfigure(fakes::NodeId node, const faults::Restarting& fault) {
    if (const auto scheduler = schedulers_.find(node); scheduler != schedulers_.end())
        scheduler->second->reconfigure(fault.config);
    else
        workers_.at(node)->reconfigure(fault.worker);
}

void SimulatedCluster::on_event(const fakes::Event& event, Time) {
    const bool settles = event.kind == fakes::EventKind::ack || event.kind == fakes::EventKind::term;
    if (settles && event.when == fakes::When::applied) ++messages_done_;
    if (event.kind != fakes::EventKind::reached) return;
    if (event.name != "settings_applied" && event.name != "settings_refused") return;
    for (const auto& effective : std::exchange(unnoticed_updates_, {})) effective();
}

}  // namespace lockstep::sim
