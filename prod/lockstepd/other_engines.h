// Workflow engines of another implementation that take results from our queue group. Each result goes to one member of the group:
// one that another implementation's engine takes is not looked at by ours, nor the other way round, until somebody's reconciler
// finds it.
//
// They are known by their records in the replica registry, which name no implementation, or another one than ours. A record
// outlives its process by kInstanceLife (instance_record.h).
#pragma once

#include <string>
#include <vector>

#include "engine/ports/clock.h"
#include "engine/ports/log.h"
#include "engine/ports/redis.h"
#include "engine/runtime/outcome.h"
#include "engine/runtime/task.h"
#include "engine/runtime/wait.h"

namespace lockstep::prod {

inline constexpr const char* kImplementation = "lockstep";
inline constexpr const char* kWorkflowService = "workflow-engine";

/// Their keys. `redis` and `clock` outlive the call. Reads the whole keyspace, in small steps.
[[nodiscard]] engine::Task<engine::Outcome<std::vector<std::string>>> find_other_engines(engine::Redis& redis,
                                                                                         engine::Clock& clock);
/// Which of the keys are still one's.
[[nodiscard]] engine::Task<engine::Outcome<std::vector<std::string>>> still_other_engines(
    engine::Redis& redis, engine::Clock& clock, std::vector<std::string> keys);

/// Waits for their records to expire, in case that they have died, and answers those that are still there; none when `stop` is
/// set meanwhile. All arguments outlive the call.
[[nodiscard]] engine::Task<engine::Outcome<std::vector<std::string>>> await_no_other_engines(engine::Redis& redis,
                                                                                             engine::Clock& clock,
                                                                                             engine::Log& log,
                                                                                             const engine::Event& stop);

/// What a record says, judged.
[[nodiscard]] bool is_other_engine(std::string_view record);

}  // namespace lockstep::prod
