// What caused what in a recorded run. Each event has at most one parent of each kind:
//
//   thread   what happened before at the same place in the same matter (its job, or else its key or subject). Not simply what
//            happened before at the same place: a replica handles many jobs at once, and one does not cause the other.
//   message  where it came from: the call that took effect here, the effect that is answered, the message that arrived.
//   trigger  the answer or message that set off the step in which it was decided; of a redelivery, the delivery before; of a
//            fault, the event on which it was placed.
//   life     the last crash, start, pause or fault of its node.
//
// Calls carry no number of their own. Those of one node that say the same are matched in order, anew for each connection.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/explain/history.h"

namespace lockstep::sim {

/// Position in `History::events`; kNoEvent for none.
using EventIndex = std::uint32_t;
inline constexpr EventIndex kNoEvent = UINT32_MAX;

enum class Cause : std::uint8_t { thread, message, trigger, life };
inline constexpr std::size_t kCauses = 4;
using Parents = std::array<EventIndex, kCauses>;

/// Of an event that begins a call: where it took effect and where it was answered.
struct CallEnds {
    EventIndex applied = kNoEvent;
    EventIndex answered = kNoEvent;
};

class Causality {
public:
    explicit Causality(const History& history);

    [[nodiscard]] const Parents& parents(EventIndex event) const { return parents_[event]; }
    [[nodiscard]] EventIndex parent(EventIndex event, Cause cause) const {
        return parents_[event][static_cast<std::size_t>(cause)];
    }
    /// Both kNoEvent for an event that begins no call, or one whose fate nobody knows.
    [[nodiscard]] CallEnds call(EventIndex event) const { return calls_[event]; }
    [[nodiscard]] std::size_t size() const { return parents_.size(); }

    /// The roots and everything that led to them, in order.
    [[nodiscard]] std::vector<EventIndex> ancestors(std::span<const EventIndex> roots) const;

private:
    friend class CausalityBuilder;
    std::vector<Parents> parents_;
    std::vector<CallEnds> calls_;
};

}  // namespace lockstep::sim
