// What the periodic loops of a scheduler see of Redis and NATS: by the calls about the locks of these loops.
#pragma once

#include "fakes/event.h"
#include "sim/model/tick_locks.h"
#include "sim/model/weather.h"

namespace lockstep::sim {

struct TickCalls {
    Time asked{};                       // the latest call
    engine::Duration took{};            // the latest answer, to come
    Time bus_broken = kBeforeAll;       // its connection to NATS, last
    Time connected_after = kBeforeAll;  // the same, as the reconciler's latest tick found it
    Time unanswered = kBeforeAll;       // when a call of the reconciler last got no answer

    void called(const TickLock& lock, const fakes::Event& call, Time now) {
        const bool reconciles = lock.kind == TickLock::Kind::reconciler;
        if (call.when == fakes::When::before) {
            asked = now;
            if (reconciles) connected_after = bus_broken;
        }
        if (call.when != fakes::When::answered) return;
        took = now - asked;
        const bool is_answered =
            call.outcome != fakes::EventOutcome::not_applied && call.outcome != fakes::EventOutcome::unknown;
        if (reconciles && !is_answered) unanswered = now;
    }
};

}  // namespace lockstep::sim
