// Runs of workflows: started, shown, ended, tried again and decided on. What is asked of a run stands in Redis before anybody is told of it:
// the engines do it at once when NATS brings them the word, and at their next look otherwise.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct StartOptions {
    std::string workflow;
    std::string run;  // empty: made up
    std::string org;  // empty: the definition's, else "default"
    nlohmann::json input = nlohmann::json::object();
    std::string idempotency_key;
    std::string by;
    bool dry_run = false;
    bool json = false;
};
[[nodiscard]] engine::Task<int> start_run(Session& session, StartOptions options);

/// A new run with the workflow, input and labels of another one.
struct RerunOptions {
    std::string of;
    std::string run;  // empty: made up
    std::string by;
    bool json = false;
};
[[nodiscard]] engine::Task<int> rerun(Session& session, RerunOptions options);

struct RunStatusOptions {
    std::string run;
    bool wait = false;  // exit code 4 unless it has succeeded by then
    engine::Duration wait_limit = std::chrono::minutes(10);
    std::string html;  // a file that the run is written to as a page; empty: none
    bool json = false;
};
[[nodiscard]] engine::Task<int> show_run(Session& session, RunStatusOptions options);

/// Runs by status, or those of one status or workflow, the newest first.
struct ListRunsOptions {
    std::string status;
    std::string workflow;
    std::int64_t limit = 100;
    bool json = false;
};
[[nodiscard]] engine::Task<int> list_runs(Session& session, ListRunsOptions options);

[[nodiscard]] engine::Task<int> cancel_run(Session& session, std::string run, std::string reason, bool as_json);

/// A run that has failed goes on from what has failed.
[[nodiscard]] engine::Task<int> retry_run(Session& session, std::string run, std::string by, bool as_json);

struct StepDecision {
    std::string run;
    std::string step;
    bool approved = true;
    std::string by;
    bool wait = false;  // until the step waits for it
    engine::Duration wait_limit = std::chrono::minutes(10);
    bool json = false;
};
[[nodiscard]] engine::Task<int> decide_step(Session& session, StepDecision decision);

/// As a run may be called by somebody: its jobs' ids begin with it.
[[nodiscard]] bool is_run_id(std::string_view text);

}  // namespace lockstep::prod
