// Takes the measures of one run: it hears of the run's events and of what changes in Redis, and changes nothing.
#pragma once

#include <functional>

#include "sim/measure/delay_times.h"
#include "sim/measure/job_times.h"
#include "sim/measure/measured_run.h"
#include "sim/measure/reached_counts.h"
#include "sim/measure/recovery.h"
#include "sim/measure/server_load.h"
#include "sim/measure/shared_state.h"
#include "sim/measure/worker_times.h"

namespace lockstep::fakes::redis {
class RedisServer;
}

namespace lockstep::sim {

class RunMeasures {
public:
    /// Both outlive this.
    RunMeasures(const EventQueue& queue, const Topology& topology);

    /// Before the run. REQUIRES: this outlives the trace's last event and the server's last change.
    void observe(SimTrace& trace, fakes::redis::RedisServer& redis);
    /// What was measured up to `end`, the end of the run. REQUIRES: called once.
    [[nodiscard]] MeasuredRun take(Time end) const;

private:
    JobTimes jobs_;
    ServerLoad servers_;
    WorkerTimes workers_;
    SharedState shared_;
    DelayTimes delays_;
    Recovery recovery_;
    ReachedCounts reached_;
};

}  // namespace lockstep::sim
