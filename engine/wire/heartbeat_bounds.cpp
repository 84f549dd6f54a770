#include "engine/wire/heartbeat_bounds.h"

#include <algorithm>

#include "engine/wire/messages.h"

namespace lockstep::engine::wire {

namespace {

bool is_count(std::int32_t jobs) { return jobs >= 0 && jobs <= kWorkerJobsMax; }

/// Also false for what is not a number.
bool is_load(float percent) { return percent >= 0 && percent <= kLoadMax; }

bool is_token(unsigned char c) { return c > ' ' && c != 0x7f && c != '.' && c != '*' && c != '>'; }

}  // namespace

bool addressable(std::string_view worker_id) {
    return !worker_id.empty() && worker_id.size() <= kWorkerIdMax && std::ranges::all_of(worker_id, is_token);
}

std::string_view unsound(const ReportedWorker& worker) {
    if (!addressable(worker.id)) return "worker_id";
    if (!is_count(worker.active_jobs) || !is_count(worker.max_parallel_jobs)) return "jobs";
    if (!is_load(worker.cpu_load) || !is_load(worker.gpu_utilization) || !is_load(worker.memory_load)) return "load";
    return worker.bytes > kHeartbeatMax ? "size" : "";
}

std::string_view unsound(const cap::Heartbeat& heartbeat) {
    return unsound(ReportedWorker{.id = heartbeat.worker_id(),
                                  .active_jobs = heartbeat.active_jobs(),
                                  .max_parallel_jobs = heartbeat.max_parallel_jobs(),
                                  .cpu_load = heartbeat.cpu_load(),
                                  .gpu_utilization = heartbeat.gpu_utilization(),
                                  .memory_load = heartbeat.memory_load(),
                                  .bytes = heartbeat.ByteSizeLong()});
}

}  // namespace lockstep::engine::wire
