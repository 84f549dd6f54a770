// What a worker can sensibly say of itself. Whoever may publish heartbeats may say anything: a worker with less than no jobs, or
// with a load that is no number, would be everybody's favourite, and one with a name that no subject can carry would swallow
// what is sent to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// Bytes of a worker's id, which is one token of a subject: more than any host name with a process number has.
inline constexpr std::size_t kWorkerIdMax = 256;
/// Jobs at a time, or as many as a worker could run: far above any machine's, and far below where sums overflow.
inline constexpr std::int32_t kWorkerJobsMax = 1'000'000;
/// Per cent. A worker that adds up its processors stays below; one above is overloaded several times over.
inline constexpr float kLoadMax = 1000;
/// Bytes of all that a worker says of itself, labels and capabilities included.
inline constexpr std::size_t kHeartbeatMax = 16'384;

struct ReportedWorker {
    std::string_view id;
    std::int32_t active_jobs = 0;
    std::int32_t max_parallel_jobs = 0;
    float cpu_load = 0;
    float gpu_utilization = 0;
    float memory_load = 0;
    std::size_t bytes = 0;
};

/// Whether worker.<id>.jobs is one subject of the jobs stream: a job sent to any other would reach nobody.
[[nodiscard]] bool addressable(std::string_view worker_id);

/// What is outside sense: "worker_id", "jobs", "load" or "size", which are the reasons of the metric too; empty when nothing is.
[[nodiscard]] std::string_view unsound(const ReportedWorker& worker);
[[nodiscard]] std::string_view unsound(const cap::Heartbeat& heartbeat);

}  // namespace lockstep::engine::wire
