// Which keys of Redis a job may point to (D-30).
#pragma once

#include <string>
#include <string_view>

#include "engine/runtime/identifiers.h"
#include "engine/runtime/task.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

/// Whether a job of `tenant` may have its input or output where the pointer leads: to the data of its own, of another job of its
/// tenant or of one without a record, to a key with one of `pointer_prefixes`, or to none. Asks Redis only about other jobs.
[[nodiscard]] Task<Outcome<bool>> may_point(Replica& replica, std::string pointer, JobId job, std::string tenant);

/// What is said of a pointer that may not lead where it does.
inline constexpr std::string_view kMayNotPoint =
    "a job may point to its own ctx: and res: keys, to those of jobs of its tenant, and to what "
    "LOCKSTEP_POINTER_PREFIXES names";

}  // namespace lockstep::engine
