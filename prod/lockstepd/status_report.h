// What a replica is at, in its log, for whoever sends it SIGUSR1: handlers, the messages in hand with their jobs and ages, how its
// servers are, and what waits in the streams.
#pragma once

#include <cstddef>
#include <string>

#include "engine/ports/clock.h"
#include "engine/runtime/task.h"
#include "prod/lockstepd/watched_bus.h"
#include "prod/observe/spdlog_log.h"
#include "prod/redis/hiredis_client.h"

namespace lockstep::prod {

struct Running {
    std::string not_ready;  // why no jobs are taken; empty: they are
    std::size_t scheduler_handlers = 0;
    std::size_t workflow_handlers = 0;
    std::size_t workers = 0;               // that are known
    const HiredisClient* redis = nullptr;  // null: not there yet, and so below
    const WatchedBus* bus = nullptr;
    std::string kernel;  // its address; empty: none is asked
};

/// At most so many messages are told of one by one, the oldest.
inline constexpr std::size_t kMessagesTold = 20;

/// What is known here, at once.
void tell_what_runs(SpdlogLog& log, const engine::Clock& clock, const Running& running);
/// What waits in the durables that `bus` has bound to; asks the server. All outlive the call.
[[nodiscard]] engine::Task<void> tell_queues(SpdlogLog& log, const engine::Clock& clock, WatchedBus& bus);

}  // namespace lockstep::prod
