// Asks the safety kernel about a job (wire.md 7.1 and 8.1).
#pragma once

#include <optional>

#include "engine/config/tunables.h"
#include "engine/policy/circuit_breaker.h"
#include "engine/policy/large_content.h"
#include "engine/policy/recent_calls.h"
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
    PolicyClient(Kernel& kernel, Redis& redis, Clock& clock, Log& log, LargeContent& room, const Tunables& tunables,
                 const StoreScripts& scripts, const Mechanisms& mechanisms);

    /// One decision; `unavailable` with the reason when there was no answer in time. The job's input, where its context
    /// pointer leads to one, goes with the question within the same time budget; where it cannot be read policy is asked
    /// without it, and the decision says so. A large input needs a place first; where too many or too slow ones are before it, of jobs
    /// that have waited for longer (`since`: when this one began to), policy is not asked (`crowded_out`). A call that runs out of time
    /// while others are answered counts for the job and not for the circuit. Policy is not asked while the circuit is open; a caller that
    /// has read `circuit_keys` a moment ago passes on what they said.
    [[nodiscard]] Task<SafetyDecision> check(const cap::JobRequest& request, std::optional<CircuitGlimpse> glimpse = {},
                                             WallTime since = {});
    /// What stands where the pointer leads to, in short; see SafetyDecision::input_hash. Nothing: Redis has given no answer.
    [[nodiscard]] Task<std::optional<std::string>> input_hash(std::string context_ptr);
    [[nodiscard]] const std::vector<std::string>& circuit_keys() const { return circuit_.watched_keys(); }

private:
    struct Input {
        std::string bytes;      // the first ones, as many as policy is shown
        std::int64_t size = 0;  // of all
        InputSeen seen = InputSeen::yes;
        [[nodiscard]] std::string hash() const;
    };
    /// The first bytes, `most` at most. Where there are more than the most that policy is shown, `size` is of all.
    [[nodiscard, gnu::noinline]] Task<Input> load_input(std::string key, std::size_t most);
    [[nodiscard]] Input not_loaded(const std::string& key, const std::string& error) const;

    Kernel& kernel_;
    Redis& redis_;
    Clock& clock_;
    Log& log_;
    LargeContent& room_;
    const Tunables& tunables_;
    CircuitBreaker circuit_;
    RecentCalls recent_;
};

}  // namespace lockstep::engine
