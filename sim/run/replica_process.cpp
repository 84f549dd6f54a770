#include "sim/run/replica_process.h"

#include <utility>

#include "sim/run/supervisor.h"

namespace lockstep::sim {

ReplicaProcess::ReplicaProcess(fakes::World& world, Node& node, const Servers& servers, engine::SchedulerConfig config,
                               Roles roles, engine::Metrics& metrics, engine::Log& log, Fails fails)
    : world_(world),
      node_(node),
      servers_(servers),
      config_(std::move(config)),
      roles_(roles),
      metrics_(metrics),
      log_(log),
      fails_(std::move(fails)) {}

ReplicaProcess::Life::Life(ReplicaProcess& process)
    : redis(process.world_, process.node_.id, process.servers_.redis,
            engine::with_replicas(process.config_.tunables.redis_replicas,
                                  process.config_.tunables.redis_replicas_patience)),
      nats(process.world_, process.servers_.nats, process.node_.id),
      kernel(process.world_, process.node_.id, Topology::kKernel, process.servers_.kernel),
      ports{process.node_.executor,
            process.node_.clock_port,
            process.node_.entropy,
            redis,
            nats,
            kernel,
            process.metrics_,
            process.log_},
      boot(process.node_.executor) {}

void ReplicaProcess::start() {
    life_ = std::make_unique<Life>(*this);
    life_->boot.spawn(boot());
}

std::size_t ReplicaProcess::in_flight() const {
    if (!life_) return 0;
    return (life_->scheduler ? life_->scheduler->in_flight() : 0) +
           (life_->workflows ? life_->workflows->in_flight() : 0);
}

engine::Task<void> ReplicaProcess::boot() {
    while (!life_->nats.connection().connected) co_await node_.clock_port.sleep(kConnectPoll);
    std::string why_not;
    if (roles_.scheduler) why_not = co_await boot_scheduler();
    if (why_not.empty() && roles_.workflow) why_not = co_await boot_workflows();
    if (!why_not.empty()) fails_(why_not);
}

engine::Task<std::string> ReplicaProcess::boot_scheduler() {
    engine::SchedulerConfig config = config_;
    config.room = life_->room;
    life_->scheduler = std::make_unique<engine::Scheduler>(life_->ports, std::move(config));
    const auto started = co_await life_->scheduler->start();
    if (!started) log_.event(engine::LogLevel::error, "the scheduler cannot start", {{"error", started.error()}});
    life_->schedules = started.has_value();
    co_return started ? std::string{} : started.error();
}

engine::Task<std::string> ReplicaProcess::boot_workflows() {
    life_->workflows = std::make_unique<engine::WorkflowEngine>(
        life_->ports,
        engine::WorkflowConfig{.tunables = config_.tunables, .mechanisms = config_.mechanisms, .room = life_->room});
    const auto started = co_await life_->workflows->start();
    if (!started) log_.event(engine::LogLevel::error, "the workflow engine cannot start", {{"error", started.error()}});
    life_->runs_workflows = started.has_value();
    co_return started ? std::string{} : started.error();
}

void ReplicaProcess::stop(std::function<void()> ended) { life_->boot.spawn(drain(std::move(ended))); }

engine::Task<void> ReplicaProcess::drain(std::function<void()> ended) {
    // A daemon that is still starting up has nothing to drain and does not go on starting.
    if (life_->runs_workflows) co_await life_->workflows->drain();
    if (life_->schedules) co_await life_->scheduler->drain();
    // What it has sent last is still on its way when it hangs up. This frame goes with its connections: not from in here.
    world_.after(node_.id, engine::Duration{0}, [this, ended = std::move(ended)] {
        life_.reset();
        ended();
    });
}

}  // namespace lockstep::sim
