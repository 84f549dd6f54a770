// Finds the place of a fault (or of an expectation) in the stream of events.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/event.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/topology.h"
#include "sim/world/virtual_time.h"

namespace lockstep::sim {

/// The job that an event is about: its own field, or else what its packet names. Empty when there is none.
[[nodiscard]] std::string_view job_of(const fakes::Event& event);

class TriggerMatcher {
public:
    /// The node filter may also name a group.
    TriggerMatcher(Trigger trigger, const Topology& topology);

    /// Whether the event is of the kind, the moment, the time and the filters. Counts nothing.
    [[nodiscard]] bool matches(const fakes::Event& event, Time now) const;
    /// Counts the event if it matches; true when it is the nth of the run, of its node or of its job.
    bool hit(const fakes::Event& event, Time now);

    [[nodiscard]] const Trigger& trigger() const { return trigger_; }

private:
    const Trigger trigger_;
    std::vector<bool> nodes_;  // empty = any
    int of_run_ = 0;
    std::vector<int> of_node_;
    std::map<std::string, int, std::less<>> of_job_;
};

}  // namespace lockstep::sim
