// Asks the safety kernel about a job (seed internals, section 6; spec: wire, sections 7.1 and 8.1).
#pragma once

#include "engine/config/tunables.h"
#include "engine/policy/safety_decision.h"
#include "engine/ports/clock.h"
#include "engine/ports/kernel.h"
#include "engine/ports/log.h"
#include "engine/ports/redis.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

class PolicyClient {
public:
    /// All arguments outlive the client.
    PolicyClient(Kernel& kernel, Redis& redis, Clock& clock, Log& log, const Tunables& tunables);

    /// One decision; `unavailable` with the reason when there was no answer in time. The job's input, where its context
    /// pointer leads to one, goes with the question within the same time budget.
    [[nodiscard]] Task<SafetyDecision> check(const cap::JobRequest& request);

private:
    [[nodiscard]] Task<std::string> load_input(std::string context_ptr, MonoTime deadline);

    Kernel& kernel_;
    Redis& redis_;
    Clock& clock_;
    Log& log_;
    const Tunables& tunables_;
};

}  // namespace lockstep::engine
