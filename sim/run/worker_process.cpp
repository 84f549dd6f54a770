#include "sim/run/worker_process.h"

namespace lockstep::sim {

fakes::WorkerConfig worker_config(const WorkerGroup& group, const std::string& name, const engine::Tunables& tunables) {
    fakes::WorkerConfig config;
    config.id = name;
    config.pool = group.pool;
    config.max_parallel_jobs = group.max_parallel_jobs;
    config.capabilities = group.capabilities;
    config.labels = group.labels;
    config.region = group.region;
    config.type = group.type;
    config.heartbeat = group.heartbeat;
    config.service_time = group.service_time;
    config.outcomes = group.outcomes;
    config.listens_to_cancel = group.listens_to_cancel;
    config.first_outcomes = group.first_outcomes;
    config.heartbeat_phase = group.heartbeat_phase;
    config.cpu_load = group.cpu_load;
    config.gpu_load = group.gpu_load;
    config.late_by = tunables.running_timeout + 3 * tunables.reconciler_interval;
    return config;
}

void WorkerProcess::reconfigure(const WorkerChange& change) {
    if (change.pool) config_.pool = *change.pool;
    if (change.max_parallel_jobs) config_.max_parallel_jobs = *change.max_parallel_jobs;
    if (change.capabilities) config_.capabilities = *change.capabilities;
    if (change.labels) config_.labels = *change.labels;
}

}  // namespace lockstep::sim
