// Numbers for what a run names, and what the model is told of the run besides its events.
#pragma once

#include "sim/world/name_numbers.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

/// A worker by number, from 1; 0: none.
using WorkerNumber = NameNumbers::Number;

/// Numbers the events of a run.
class EventClock {
public:
    virtual ~EventClock() = default;
    /// The event that was told last.
    [[nodiscard]] virtual EventNumber present() = 0;
    /// When it was told, whoever wanted to be told of it.
    [[nodiscard]] virtual const Time& told_at() const = 0;
};

/// An event of the past, and its time.
struct Since {
    EventNumber event = 0;
    Time at{};
};

}  // namespace lockstep::sim
