// The command line of `lockstep dev`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "engine/runtime/time.h"

namespace lockstep::prod {

struct DevOptions {
    int replicas = 1;
    int workers = 1;  // in each pool
    std::string service_time = "50ms";
    std::string policy_file;  // empty: the example
    std::string pools_file;   // empty: the example
    /// Of loopback; 0: a free one.
    int redis_port = 0;
    int nats_port = 0;
    int kernel_port = 0;
    int metrics_port = 0;                            // of the first replica; each other one's is the next
    std::map<std::string, std::string> environment;  // of the replicas
    std::string topic = "job.default";               // of the sample job
    std::string payload = R"({"say":"hi"})";
    bool until_done = false;                  // ends with the sample job
    std::optional<engine::Duration> run_for;  // nothing: until it is told to end
    bool keep = false;                        // leaves the folder
};

/// The error is the exit code, after help, the version or what is wrong has been printed.
[[nodiscard]] tl::expected<DevOptions, int> parse_dev_options(int argc, const char* const* argv);

}  // namespace lockstep::prod
