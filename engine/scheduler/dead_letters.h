// Telling the bus about dead letters. The entry itself is written with the state that it explains, in one script; the
// packet follows, and until it is acknowledged the outbox remembers it, so that no crash can swallow it.
#pragma once

#include "engine/scheduler/context.h"

namespace lockstep::engine {

class DeadLetters {
public:
    explicit DeadLetters(Context& context) : context_(context) {}

    /// Publishes the packet, and the audit event that goes with some, with one more try after half a second, and strikes it off the outbox. A failure is counted and
    /// logged; the sweep tries again.
    [[nodiscard]] Task<void> announce(DeadLetter letter);
    /// Announces what has waited in the outbox for a while. REQUIRES: called by one replica at a time.
    [[nodiscard]] Task<void> sweep();

private:
    [[nodiscard]] Task<bool> publish(DeadLetter letter);

    Context& context_;
};

}  // namespace lockstep::engine
