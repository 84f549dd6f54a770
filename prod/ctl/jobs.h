// Commands about jobs that exist: `status`, `result`, `list`, `cancel`.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct StatusOptions {
    std::vector<std::string> jobs;
    bool wait = false;
    engine::Duration wait_limit = std::chrono::minutes(10);
    bool json = false;
};
[[nodiscard]] engine::Task<int> show_status(Session& session, StatusOptions options);

/// Prints the bytes that the job's result pointer leads to.
[[nodiscard]] engine::Task<int> show_result(Session& session, std::string job);

/// Counts by state, or the jobs of one state, oldest first.
[[nodiscard]] engine::Task<int> list_jobs(Session& session, std::string state, std::int64_t limit, bool json);

/// What a gateway does on a user's cancellation: ends the job in the store and tells workers and the workflow engine.
[[nodiscard]] engine::Task<int> cancel_job(Session& session, std::string job, std::string reason, bool json);

}  // namespace lockstep::prod
