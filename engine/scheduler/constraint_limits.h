// The limits that policy may put on a job beside its decision, as far as the scheduler itself enforces them (wire.md 8, step 9),
// and those that the timeouts document adds (settings.md 3). Zero: none.
#pragma once

#include <cstdint>

#include "engine/config/timeouts.h"
#include "engine/policy/safety_decision.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

/// How many other jobs of its tenant may be on their way (SCHEDULED, DISPATCHED or RUNNING) when the job is dispatched.
[[nodiscard]] std::int64_t tenant_limit(const SafetyDecision& decision);
/// How long the job may take from here on, in milliseconds; it becomes its deadline, where that is not earlier already.
[[nodiscard]] std::int64_t run_time_limit_ms(const SafetyDecision& decision);
/// How often the job may be dispatched again: the least that policy, its topic and its workflow allow. A try that found no
/// worker does not count.
struct RetryLimit {
    std::int64_t retries = 0;
    const char* set_by = "policy";
};
[[nodiscard]] RetryLimit retry_limit(const SafetyDecision& decision, const Timeouts& timeouts,
                                     const cap::JobRequest& request);

}  // namespace lockstep::engine
