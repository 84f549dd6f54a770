// What a replica knows about one live worker.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/runtime/identifiers.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

/// What routing knows about one live worker.
struct Worker {
    WorkerId id;
    std::string pool;
    std::string region;
    std::string type;
    std::int32_t active_jobs = 0;
    std::int32_t max_parallel_jobs = 0;
    float cpu_load = 0;
    float gpu_utilization = 0;
    float memory_load = 0;
    std::vector<std::string> capabilities;
    std::map<std::string, std::string> labels;

    MonoTime alive_until{};
    /// Dispatched by this replica since the worker's last heartbeat, which cannot count them yet.
    std::int32_t sent_since_heartbeat = 0;
    /// Ends that this replica has heard of since then. Every replica hears of its share only, as it sends its share only.
    std::int32_t ended_since_heartbeat = 0;
    MonoTime heartbeat_at{};
    /// The most jobs in flight that the store has told this replica of since the last heartbeat, and between the two before.
    std::int64_t most_in_flight = 0;
    std::int64_t most_in_flight_before = 0;
    bool has_heartbeat = false;  // false: known by its handshake alone, alive but not routable
    bool heard = false;          // by this replica; false: what is known of it is from a snapshot
    std::string sdk_version;
};

}  // namespace lockstep::engine
