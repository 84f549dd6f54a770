// Takes down what the rules of a run find.
#pragma once

#include <string>
#include <string_view>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

struct Breach {
    std::string_view invariant;
    std::string_view paragraph;  // of the documents, that says what should have happened
    EventNumber here = 0;        // it may come before the present event
    EventNumber earlier = 0;     // the event that contradicts it; 0: there is none
    fakes::NodeId node;
    std::string_view job;
    std::string detail;  // one sentence that names both facts
};

class Findings : public EventClock {
public:
    /// The first violation stops the run.
    virtual void violated(Breach breach) = 0;
};

}  // namespace lockstep::sim
