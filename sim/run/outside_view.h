// What real servers would show of a simulated run (prod/rehearsal/witness.h), without what goes on inside its processes. So the rules that
// judge there are tried where runs are cheap: none of them may accuse a run that holds.
#pragma once

#include "sim/model/model.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class OutsideView final : public EventObserver {
public:
    /// It outlives this.
    explicit OutsideView(Model& model) : model_(model) {}
    void on_event(const fakes::Event& event, Time now) override;

private:
    Model& model_;
};

}  // namespace lockstep::sim
