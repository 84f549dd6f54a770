// The replica registry: while this process lives, `cordum:instance:scheduler:<id>` says so.
#pragma once

#include <string>

#include "engine/ports/clock.h"
#include "engine/ports/redis.h"
#include "engine/runtime/task.h"

namespace lockstep::prod {

class InstanceRecord {
public:
    InstanceRecord(engine::Redis& redis, engine::Clock& clock, std::string id, const std::string& version);

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
