#include "sim/run/result_reader_process.h"

#include <utility>

#include "sim/run/supervisor.h"

namespace lockstep::sim {

ResultReaderProcess::ResultReaderProcess(fakes::World& world, Node& node, const Servers& servers,
                                         engine::Tunables tunables, const engine::Mechanisms& mechanisms,
                                         engine::Log& log)
    : world_(world),
      node_(node),
      servers_(servers),
      tunables_(std::move(tunables)),
      mechanisms_(mechanisms),
      log_(log) {}

ResultReaderProcess::Life::Life(ResultReaderProcess& process)
    : redis(process.world_, process.node_.id, process.servers_.redis),
      nats(process.world_, process.servers_.nats, process.node_.id),
      kernel(process.world_, process.node_.id, Topology::kKernel, process.servers_.kernel),
      reader({process.node_.executor, process.node_.clock_port, process.node_.entropy, redis, nats, kernel,
              process.metrics_, process.log_},
             process.tunables_, process.mechanisms_),
      boot(process.node_.executor) {}

void ResultReaderProcess::start() {
    life_ = std::make_unique<Life>(*this);
    life_->boot.spawn(boot());
}

engine::Task<void> ResultReaderProcess::boot() {
    while (!life_->nats.connection().connected) co_await node_.clock_port.sleep(kConnectPoll);
    while (true) {
        const auto started = co_await life_->reader.start();
        if (started) co_return;
        log_.event(engine::LogLevel::error, "result reader not started", {{"error", started.error()}});
        co_await node_.clock_port.sleep(kSupervisorPause);
    }
}

void ResultReaderProcess::stop(std::function<void()> ended) { life_->boot.spawn(drain(std::move(ended))); }

engine::Task<void> ResultReaderProcess::drain(std::function<void()> ended) {
    co_await life_->reader.drain();
    // What it has sent last is still on its way when it hangs up. This frame goes with its connections: not from in here.
    world_.after(node_.id, engine::Duration{0}, [this, ended = std::move(ended)] {
        life_.reset();
        ended();
    });
}

}  // namespace lockstep::sim
