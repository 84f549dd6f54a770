// What a replica that starts knows of workers from the snapshot (REG-06; redis-schema.md 6).
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "sim/spec/snapshot_age.h"
#include "sim/spec/worker_life.h"

namespace lockstep::sim::spec {

/// Until when the workers of the snapshot that it finds are surely alive to it; before its start: they need not be.
[[nodiscard]] inline Time warm_until(Time start, const StoredSnapshot& found, const engine::Tunables& tunables) {
    if (!found.text.captured_at || !found.expires_at) return start - engine::Duration{1};
    return std::min(start + by_the_fastest_clock(tunables.hydrated_worker_ttl),
                    captured(found, tunables) + by_the_fastest_clock(tunables.worker_ttl) - kCapturedAtPrecision);
}

/// How many more jobs the worker may be given before it counts as overloaded.
[[nodiscard]] inline std::int64_t room_of(const NamedWorker& worker, const engine::Tunables& tunables) {
    if (worker.cpu_load >= tunables.overload_cpu || worker.gpu_utilization >= tunables.overload_gpu) return 0;
    if (worker.max_parallel_jobs <= 0) return std::numeric_limits<std::int32_t>::max();
    constexpr double kAsWritten = 1e-6;
    const double slots = static_cast<double>(worker.max_parallel_jobs) * tunables.overload_utilization - kAsWritten;
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(slots)) - worker.active_jobs);
}

/// For how long a replica that cannot read the snapshot tries at least, up to the last time that it tries.
[[nodiscard]] inline engine::Duration snapshot_patience(const engine::Tunables& tunables) {
    constexpr std::chrono::milliseconds kBetweenTries{300};
    return by_the_fastest_clock(tunables.snapshot_read_timeout) - kBetweenTries;
}

}  // namespace lockstep::sim::spec
