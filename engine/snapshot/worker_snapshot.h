// The worker snapshot `sys:workers:snapshot`: the workers that a scheduler knows, as JSON that schedulers read at start and
// gateways show (redis-schema.md 6). Text from values and back, nothing else.
//
// 1. The same registry gives the same bytes: keys in the order of the specification, workers and pools by name.
// 2. A worker is in it only when the writer has heard it itself. What a replica knows from an earlier snapshot it does not pass
//    on: from one restart to the next, a dead worker would live for ever (H-52).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/config/pools.h"
#include "engine/routing/registry.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

struct WorkerSnapshot {
    WallTime captured_at{};  // by the clock of Redis, in whole seconds
    std::string writer_id;
    std::vector<Worker> workers;  // what a heartbeat tells about each
};

/// `writer_id` may be empty. `now` decides who is alive.
[[nodiscard]] std::string worker_snapshot_json(const Registry& registry, const RoutingTable& routing,
                                               std::string_view writer_id, WallTime captured_at, MonoTime now);

/// Any writer's snapshot; keys that are not known are passed over, and so are workers without an id. The error says what cannot
/// be read: then nothing of it is to be trusted.
[[nodiscard]] tl::expected<WorkerSnapshot, std::string> parse_worker_snapshot(std::string_view text);

}  // namespace lockstep::engine
