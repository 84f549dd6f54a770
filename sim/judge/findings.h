// Takes down what the rules of a run find.
#pragma once

#include <string>
#include <string_view>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

class Findings : public EventClock {
public:
    /// Of the event `here`, which may come before the present one. `detail` is one sentence that names the two facts which contradict
    /// each other: that event, and `earlier`; 0: there is no earlier one. The first violation stops the run.
    virtual void violated_at(EventNumber here, std::string_view invariant, fakes::NodeId node, std::string_view job,
                             std::string detail, EventNumber earlier) = 0;
};

}  // namespace lockstep::sim
