// `submit`: does what a gateway does with a job. It writes the input, the job's keys and the stored request, then publishes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct SubmitOptions {
    std::string topic = "job.default";
    std::string id;  // empty: made up; with a count it is a prefix
    std::string tenant = "default";
    std::string payload = "{}";
    std::string principal;
    std::string trace;
    std::string idempotency_key;
    std::string capability;
    std::string workflow;
    std::string compensation;  // a CAP Compensation in protobuf's JSON form; empty = none
    std::vector<std::string> required;
    std::vector<std::string> risk_tags;
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> env;
    int priority = 2;  // batch
    engine::Duration budget{};
    std::int64_t count = 1;
    double rate = 0;  // per second; 0: as fast as it goes
    bool publish_only = false;
    bool wait = false;
    engine::Duration wait_limit = std::chrono::minutes(10);
    bool json = false;
    bool quiet = false;  // says nothing of a job that is submitted
};

/// What is wrong with the options as they were typed, as a sentence that names the option; empty = nothing.
[[nodiscard]] std::string mistake_in(const SubmitOptions& options);

/// REQUIRES: no mistake in the options.
[[nodiscard]] engine::Task<int> submit(Session& session, SubmitOptions options);

}  // namespace lockstep::prod
