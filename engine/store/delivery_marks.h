// How far the durables of a cluster of NATS servers are accounted for, kept in Redis for whoever ticks next
// (redis-schema.md: lockstep:durable:<durable>).
//
// A server on its own has no leader that could change, and no mark.
#pragma once

#include <optional>
#include <string>

#include "engine/config/tunables.h"
#include "engine/ports/clock.h"
#include "engine/ports/redis.h"
#include "engine/runtime/identifiers.h"

namespace lockstep::engine {

struct DeliveryMark {
    std::string leader;        // the server that led the durable when it was asked
    StreamSequence accounted;  // its floor then, or how far the stretch behind has been looked through
    /// The end of what a change of leader may have hidden: what lies between is still to be looked at.
    StreamSequence passed_by;

    [[nodiscard]] bool hides_something() const { return accounted < passed_by; }
    friend bool operator==(const DeliveryMark&, const DeliveryMark&) = default;
};

class DeliveryMarks {
public:
    /// All arguments outlive the store.
    DeliveryMarks(Redis& redis, Clock& clock, const Tunables& tunables)
        : redis_(redis), clock_(clock), tunables_(tunables) {}

    /// Nothing where none has been kept.
    [[nodiscard]] Task<Outcome<std::optional<DeliveryMark>>> of(std::string durable);
    /// In the place of what was kept. Kept twice it is kept once, and an older one in the place of a newer makes the next tick look
    /// again at what has been looked at.
    [[nodiscard]] Task<Outcome<Done>> keep(std::string durable, DeliveryMark mark);

private:
    [[nodiscard]] MonoTime deadline() const { return clock_.in(tunables_.store_op_timeout); }

    Redis& redis_;
    Clock& clock_;
    const Tunables& tunables_;
};

}  // namespace lockstep::engine
