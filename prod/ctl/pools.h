// `pool`: has a pool get no more jobs, or get them again, through the configuration service that every scheduler follows.
#pragma once

#include <string>

#include "engine/config/pools.h"
#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct PoolOptions {
    std::string pool;
    engine::PoolStatus status = engine::PoolStatus::draining;
    bool wait = false;  // until none of its workers has a job
    engine::Duration wait_limit = std::chrono::minutes(10);
    bool json = false;
};

/// Writes the status where nobody else has written meanwhile, tries again where somebody has, and announces it on
/// `sys.config.changed` (settings.md 5). Says how many jobs the pool's workers still have. Exit code 4: they still had some at the end
/// of the wait.
[[nodiscard]] engine::Task<int> set_pool_status(Session& session, PoolOptions options);

}  // namespace lockstep::prod
