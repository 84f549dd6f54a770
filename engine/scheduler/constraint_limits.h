// The limits that policy may put on a job beside its decision, as far as the scheduler itself enforces them (spec: wire,
// section 8, steps 10 and 11). Zero: none.
#pragma once

#include <cstdint>

#include "engine/policy/safety_decision.h"

namespace lockstep::engine {

/// How many other jobs of its tenant may be on their way (SCHEDULED, DISPATCHED or RUNNING) when the job is dispatched.
[[nodiscard]] std::int64_t tenant_limit(const SafetyDecision& decision);
/// How often the job may be dispatched again. A try that found no worker does not count.
[[nodiscard]] std::int64_t retry_limit(const SafetyDecision& decision);

}  // namespace lockstep::engine
