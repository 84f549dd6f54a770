// The simulation's desks for workflows at real servers: whoever puts definitions and starts runs, and whoever decides about them.
#pragma once

#include "prod/lockstepd/no_kernel.h"
#include "prod/loop/system_clock.h"
#include "prod/loop/system_entropy.h"
#include "prod/loop/uv_loop.h"
#include "sim/run/replica_process.h"
#include "sim/run/run_desk.h"

namespace lockstep::prod::rehearsal {

/// A log that nobody reads.
class SilentLog final : public engine::Log {
public:
    void reached(std::string_view) override {}
    [[nodiscard]] bool enabled(engine::LogLevel) const override { return false; }

private:
    void write(engine::LogLevel, std::string_view, std::initializer_list<engine::LogField>) override {}
};

class RunDesks {
public:
    /// All arguments outlive it. `begins`: when the load begins.
    RunDesks(UvLoop& loop, engine::Redis& redis, engine::Bus& bus, sim::RunPlan& plan, engine::MonoTime begins)
        : ports_{loop, clock_, entropy_, redis, bus, kernel_, metrics_, log_},
          gateway_(ports_, plan, sim::RunDesk::Of::gateway, begins),
          people_(ports_, plan, sim::RunDesk::Of::people, begins) {}

private:
    SystemClock clock_;
    SystemEntropy entropy_;
    NoKernel kernel_;
    sim::Uncounted metrics_;
    SilentLog log_;
    engine::Ports ports_;
    sim::RunDesk gateway_;
    sim::RunDesk people_;
};

}  // namespace lockstep::prod::rehearsal
