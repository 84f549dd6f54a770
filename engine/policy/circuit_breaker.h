// The circuit breaker in front of a policy service, one for all replicas (redis-schema.md 9).
//
//   CLOSED --- budget of failures in a row ---> OPEN --- 30 s ---> HALF-OPEN --- two successes ---> CLOSED
//                                                ^----- any failure -----'  (at most three probes)
//
// 1. The failure counter is an integer key that gateways read; at or above the budget the circuit is open for as long as
//    the key lives, and a trip gives it its full time. Beside it stand the trip's number, from the trip until the circuit
//    has closed, and the places of its probes.
// 2. Looking costs no round trip where the caller has read `watched_keys` a moment ago and found the circuit closed or
//    open. What it saw is as old as that read: a call may still begin in the instant in which others trip the circuit.
// 3. A success costs a round trip only where there are failures to be forgotten.
// 4. Outcomes are recorded with time of their own, never with what is left of the call's: else no timeout would ever count.
// 5. Every outcome also goes into a circuit of this process, which decides whenever the shared one cannot be reached. A server
//    may answer questions and refuse to write down failures (out of memory, a failed save): then no failure is ever counted
//    there, and this process goes by its own circuit as well, until that is closed again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/mechanisms.h"
#include "engine/policy/local_circuit.h"
#include "engine/ports/clock.h"
#include "engine/ports/log.h"
#include "engine/ports/redis.h"
#include "engine/runtime/task.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {

/// The values of `watched_keys`, read in passing by somebody else's script.
struct CircuitGlimpse {
    std::int64_t failures = 0;
    std::string trip;
};

class CircuitBreaker {
public:
    enum class Service : std::uint8_t { input, output };

    /// A call that may begin now. Its outcome must be reported, once.
    struct Leave {
        std::string asker;
        std::string trip;                // under which it begins; empty = closed
        bool failures_to_forget = true;  // false: nobody has failed lately, so a success need not be told
        LocalCircuit::Ticket local;
        [[nodiscard]] bool is_probe() const { return !trip.empty() || local.probe; }
    };

    /// All arguments outlive the breaker.
    CircuitBreaker(Service service, Redis& redis, Clock& clock, Log& log, const Tunables& tunables,
                   const StoreScripts& scripts, const Mechanisms& mechanisms);

    /// The keys whose values make a glimpse, in the order of its members.
    [[nodiscard]] const std::vector<std::string>& watched_keys() const { return watched_keys_; }

    /// Reads `watched_keys`, for a caller that has much to do before it can ask. Nothing when they could not be read.
    [[nodiscard]] Task<std::optional<CircuitGlimpse>> look();
    /// Whether, as of this glimpse, nobody would be let through.
    [[nodiscard]] bool is_open(const CircuitGlimpse& glimpse) const;
    /// Nothing while open. `asker` names the call among those under way at the same time, over all replicas. REQUIRES: a name.
    [[nodiscard, gnu::noinline]] Task<std::optional<Leave>> ask_leave(std::string asker,
                                                                      std::optional<CircuitGlimpse> glimpse);
    [[nodiscard, gnu::noinline]] Task<void> failed(Leave leave);
    [[nodiscard, gnu::noinline]] Task<void> succeeded(Leave leave);

private:
    enum class Shared : std::uint8_t { closed, open, probe, unknown };

    /// Lets the local circuit decide.
    [[nodiscard]] std::optional<Leave> ask_local(Leave leave);

    /// Asks all replicas; fills in what the leave has to remember.
    [[nodiscard, gnu::noinline]] Task<Shared> ask_shared(Leave& leave, std::optional<CircuitGlimpse> glimpse);
    [[nodiscard, gnu::noinline]] Task<Outcome<RedisValue>> report(const RedisScript& script,
                                                                  std::vector<std::string> arguments, bool probe);
    [[nodiscard]] bool shared() const { return mechanisms_.on(Mechanism::shared_circuit); }
    [[nodiscard]] std::vector<std::string> keys() const;
    [[nodiscard]] MonoTime deadline() const { return clock_.in(tunables_.store_op_timeout); }
    /// The longest time that a call may take.
    [[nodiscard]] Duration longest_call() const;

    const Service service_;
    Redis& redis_;
    Clock& clock_;
    Log& log_;
    const Tunables& tunables_;
    const StoreScripts& scripts_;
    const Mechanisms& mechanisms_;
    std::vector<std::string> watched_keys_;
    std::string probes_key_;
    LocalCircuit local_;
    bool knows_more_ = false;  // the shared circuit lacks failures that the local one has counted
};

}  // namespace lockstep::engine
