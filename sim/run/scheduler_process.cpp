#include "sim/run/scheduler_process.h"

#include "sim/run/supervisor.h"

namespace lockstep::sim {

SchedulerProcess::SchedulerProcess(fakes::World& world, Node& node, const Servers& servers,
                                   engine::SchedulerConfig config, engine::Metrics& metrics, engine::Log& log)
    : world_(world), node_(node), servers_(servers), config_(std::move(config)), metrics_(metrics), log_(log) {}

SchedulerProcess::Life::Life(SchedulerProcess& process)
    : redis(process.world_, process.node_.id, process.servers_.redis),
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

void SchedulerProcess::start() {
    life_ = std::make_unique<Life>(*this);
    life_->boot.spawn(boot());
}

std::size_t SchedulerProcess::in_flight() const {
    return life_ && life_->scheduler ? life_->scheduler->in_flight() : 0;
}

engine::Task<void> SchedulerProcess::boot() {
    while (!life_->nats.connection().connected) co_await node_.clock_port.sleep(kConnectPoll);
    while (true) {
        life_->scheduler = std::make_unique<engine::Scheduler>(life_->ports, config_);
        const auto started = co_await life_->scheduler->start();
        if (started) {
            life_->serving = true;
            co_return;
        }
        log_.event(engine::LogLevel::error, "scheduler not started", {{"error", started.error()}});
        life_->scheduler.reset();
        co_await node_.clock_port.sleep(kSupervisorPause);
    }
}

void SchedulerProcess::stop(std::function<void()> ended) { life_->boot.spawn(drain(std::move(ended))); }

engine::Task<void> SchedulerProcess::drain(std::function<void()> ended) {
    // A daemon that is still starting up has nothing to drain and does not go on starting.
    const bool serving = life_->scheduler != nullptr && life_->serving;
    if (serving) co_await life_->scheduler->drain();
    // What it has sent last is still on its way when it hangs up. This frame goes with its connections: not from in here.
    world_.after(node_.id, engine::Duration{0}, [this, ended = std::move(ended)] {
        life_.reset();
        ended();
    });
}

}  // namespace lockstep::sim
