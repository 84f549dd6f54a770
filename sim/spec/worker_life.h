// For how long a replica may take a worker for alive (STALE-01, STALE-03).
#pragma once

#include <algorithm>

#include "engine/config/tunables.h"
#include "sim/model/job.h"

namespace lockstep::sim::spec {

/// The replica measures with a clock of its own, which may go a tenth slower than it should.
[[nodiscard]] constexpr engine::Duration by_the_slowest_clock(engine::Duration duration) {
    return duration + duration / 8;
}

/// Or a tenth faster.
[[nodiscard]] constexpr engine::Duration by_the_fastest_clock(engine::Duration duration) {
    return duration - duration / 8;
}

/// Until when, at the longest, and the event that allows it. A snapshot that names the worker allows less, and its age shortens
/// that only.
[[nodiscard]] inline Since alive_until(const Liveness& known, const engine::Tunables& tunables) {
    const auto until = [](const Since& since, engine::Duration ttl) {
        return since.event == 0 ? Since{} : Since{since.event, since.at + by_the_slowest_clock(ttl)};
    };
    const Since heard = until(known.heard, tunables.worker_ttl);
    const Since named = until(known.named, std::min(tunables.worker_ttl, tunables.hydrated_worker_ttl));
    return heard.at < named.at ? named : heard;
}

}  // namespace lockstep::sim::spec
