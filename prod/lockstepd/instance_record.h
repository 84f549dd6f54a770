// The replica registry: while this process lives, `cordum:instance:<service>:<id>` says so.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "engine/ports/clock.h"
#include "engine/ports/redis.h"
#include "engine/runtime/task.h"

namespace lockstep::prod {

/// How long a record outlives the last word of its process.
inline constexpr std::chrono::seconds kInstanceLife{15};

inline constexpr const char* kSchedulerService = "scheduler";

class InstanceRecord {
public:
    struct Content {
        std::string service;
        std::string id;
        std::string version;
        std::string implementation;  // whose program it is; empty: not told
        /// Limits that its own variables set, by variable: the service's are the same for all.
        std::map<std::string, std::string> limits{};
    };
    InstanceRecord(engine::Redis& redis, engine::Clock& clock, const Content& content);

    /// Writes the record again and again, well before it expires. Runs until destroyed.
    [[nodiscard]] engine::Task<void> keep();
    /// Removes it; should that fail, it expires by itself.
    [[nodiscard]] engine::Task<void> remove();

private:
    engine::Redis& redis_;
    engine::Clock& clock_;
    std::string key_;
    std::string json_;
};

}  // namespace lockstep::prod
