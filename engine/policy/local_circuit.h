// A circuit breaker of one process (redis-schema.md 9): closed; open for a while after enough failures in a row;
// then half-open, where a few probes decide. What a breaker falls back to while it cannot ask the other replicas.
//
// A call that began before the latest trip says nothing about what came after it: its outcome is ignored.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/config/tunables.h"

namespace lockstep::engine {

class LocalCircuit {
public:
    /// A call that was let through.
    struct Ticket {
        std::uint64_t trips = 0;  // how often the circuit had tripped when it began
        bool probe = false;
    };

    /// The tunables outlive the circuit.
    explicit LocalCircuit(const Tunables& tunables) : tunables_(tunables) {}

    /// Lets a call through, or nothing. Takes a place among the probes while half-open.
    [[nodiscard]] std::optional<Ticket> admit(MonoTime now);
    /// A call that somebody else has let through.
    [[nodiscard]] Ticket ticket() const { return {trips_, false}; }
    /// Others have tripped it, and the time that it is open for has passed: half-open here too.
    void join_half_open(MonoTime now);
    void failed(Ticket ticket, MonoTime now);
    void succeeded(Ticket ticket);

    [[nodiscard]] std::int64_t failures() const { return failures_; }
    /// Nothing is counted against the next call.
    [[nodiscard]] bool is_closed() const { return !tripped_ && failures_ == 0; }
    [[nodiscard]] bool is_open(MonoTime now) const { return tripped_ && now < open_until_; }

private:
    void give_back(Ticket ticket);

    const Tunables& tunables_;
    std::int64_t failures_ = 0;  // in a row
    std::uint64_t trips_ = 0;
    bool tripped_ = false;  // since a trip, until closed
    MonoTime open_until_{};
    std::int64_t probing_ = 0;
    std::int64_t probes_succeeded_ = 0;
};

}  // namespace lockstep::engine
