// What `doctor` holds a deployment to: rules over what its servers have answered. Pure functions; who asks is prod/ctl/doctor.h.
//
// A rule that cannot be judged, because a server does not tell, is a finding of its own kind: never "well".
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/overlay.h"
#include "engine/ports/bus.h"
#include "prod/config/settings.h"
#include "prod/ctl/waiting.h"

namespace lockstep::prod {

enum class Health : std::uint8_t {
    well,
    unknown,  // nobody tells
    warn,     // it works, and something is lost or slower than need be
    wrong,    // a promise is not kept, or nothing works
};
[[nodiscard]] std::string_view to_string(Health health);

struct Finding {
    std::string check;  // a word for programs, such as redis.eviction
    Health health = Health::well;
    std::string says;
    std::string mend;  // what to do; empty when it is well
};
using Findings = std::vector<Finding>;

/// What Redis has told. What it refused to tell is not in `info`.
struct RedisFacts {
    std::map<std::string, std::string> info;       // the lines of INFO
    std::string appendfsync;                       // empty: CONFIG GET is not allowed
    std::string write_error;                       // of a script that writes, reads and deletes; empty = none
    std::optional<engine::Duration> clock_offset;  // of its clock to ours; positive: ahead
    std::vector<std::string> endless_locks;        // lock and circuit keys without an expiry
    struct WrongType {
        std::string key, is, wanted;
    };
    std::vector<WrongType> wrong_types;
};
/// "name:value" lines; anything else is passed over.
[[nodiscard]] std::map<std::string, std::string> parse_info(std::string_view text);

/// Redis as a server: version, role, eviction, memory, persistence, replicas, cluster, writes, clock, keys.
[[nodiscard]] Findings check_redis(const RedisFacts& facts, const Settings& settings);

/// What stands in Redis about the deployment itself.
struct DeploymentFacts {
    Surroundings around;
    std::optional<engine::Overlay> overlay;  // nothing: no document, or none that can be read
    bool overlay_unreadable = false;
    std::optional<Micros> oldest_pending;
    std::int64_t untold_letters = 0;
    /// By scheduler, as its record in Redis says: the limits that its variables set. Replicas that do not tell are not in it.
    std::map<std::string, std::map<std::string, std::string>> limits;
};
/// Schedulers and whether they differ, workers, circuit, configuration document, dead letters, jobs that no replica takes.
[[nodiscard]] Findings check_deployment(const DeploymentFacts& facts);

/// A stream as STREAM.INFO describes it, against wire.md 3.1: `answer` is the server's, empty when there was none.
[[nodiscard]] Findings check_stream(std::string_view name, const std::vector<std::string>& subjects,
                                    std::string_view answer, const Settings& settings);
/// A durable as CONSUMER.INFO describes it, against wire.md 3.2. `dispatch_timeout` is the one in force.
[[nodiscard]] Findings check_consumer(const engine::ConsumerSpec& wanted, std::string_view answer,
                                      const Settings& settings, engine::Duration dispatch_timeout);

[[nodiscard]] bool anything_wrong(const Findings& findings);
/// {"ok": bool, "findings": [{check, health, says, mend}]}: ok is false when something is wrong; warnings leave it true.
[[nodiscard]] nlohmann::json findings_json(const Findings& findings);
/// A line each, and how to mend below it. What is well only where `all` is asked for.
[[nodiscard]] std::string findings_text(const Findings& findings, bool all);

}  // namespace lockstep::prod
