// Counts the calls that the schedulers make to the outside, by what they are: what enumeration puts a fault on, one after
// the other.
#pragma once

#include <map>

#include "sim/run/result.h"
#include "sim/scenario/topology.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class CallLedger final : public EventObserver {
public:
    explicit CallLedger(const Topology& topology) : topology_(topology) {}

    void on_event(const fakes::Event& event, Time now) override;
    /// In the order of the event table, then by name.
    [[nodiscard]] std::vector<CallSite> sites() const;

private:
    const Topology& topology_;
    std::map<CallSite, int> counts_;  // the count of the key is not used
};

}  // namespace lockstep::sim
