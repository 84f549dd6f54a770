// Everything that a process of ours is told by its environment (the variables of the scheduler, and LOCKSTEP_<TUNABLE>
// for every tunable), checked as a whole: all mistakes are reported at once, each with the variable and the way out.
//
// Where a documented variable and LOCKSTEP_<TUNABLE> speak of the same thing, the documented one wins.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/config/pinned_settings.h"
#include "engine/config/tunables.h"
#include "prod/config/environment.h"
#include "prod/config/roles.h"
#include "prod/nats/nats_options.h"
#include "prod/observe/log_settings.h"
#include "prod/redis/redis_url.h"
#include "prod/tls/tls_channel.h"

namespace lockstep::prod {

struct KernelSettings {
    std::string address = "localhost:50051";
    std::optional<TlsOptions> tls;  // nothing: plain text
};

struct WorkflowSettings {
    std::string http_address = ":9093";
    /// Other implementations of the workflow engine may take results from the same queue group.
    bool beside_others = false;
};

struct Settings {
    Roles roles;
    NatsOptions nats;
    RedisAddress redis;
    KernelSettings kernel;
    WorkflowSettings workflow;
    LogSettings log;

    std::string pools_file = "config/pools.yaml";
    std::string timeouts_file = "config/timeouts.yaml";
    bool timeouts_file_given = false;

    std::string metrics_address = ":9090";
    std::string pod = "unknown";  // constant label of every metric
    /// How long a server may be away before jobs count as not taken.
    engine::Duration readiness_grace = std::chrono::seconds{1};
    /// How long the event loop may stand still before the process counts as dead.
    engine::Duration loop_stall_limit = std::chrono::seconds{10};
    bool redis_may_evict = false;
    std::int64_t replicas = 0;  // how many of this role there should be; 0: not told
    std::string instance_id;    // empty: none was given
    bool production = false;

    engine::Tunables tunables;
    engine::PinnedSettings
        pinned;  // what the environment says is neither the configuration service's nor a file's to change
    std::vector<std::string> warnings;  // to be logged once there is a log
    /// By variable: the file that its value was read from, or that a credential has put in its place (secrets.h).
    std::map<std::string, std::string, std::less<>> from_files;
};

/// For a process that does what `roles` say. The error has one line per mistake.
[[nodiscard]] tl::expected<Settings, std::string> read_settings(const Environment& environment,
                                                                Roles roles = kSchedulerRole);

/// The limits of the reconciler that the environment sets, by variable: they stand above the configuration service and the file (D-27).
[[nodiscard]] std::map<std::string, std::string> limits_of_variables(const Settings& settings);

}  // namespace lockstep::prod
