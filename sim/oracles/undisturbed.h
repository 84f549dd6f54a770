// For how long nothing has disturbed the cluster: what a promise about recovery counts from.
//
// Conservative: of a fault that nobody has ended, and of what a healing leaves broken, it is taken that it goes on.
#pragma once

#include <optional>
#include <set>

#include "fakes/event.h"
#include "sim/world/virtual_time.h"

namespace lockstep::sim {

class Undisturbed {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{fakes::EventKind::redis,
                                                                   fakes::EventKind::fault,
                                                                   fakes::EventKind::node_down,
                                                                   fakes::EventKind::node_up,
                                                                   fakes::EventKind::paused,
                                                                   fakes::EventKind::resumed,
                                                                   fakes::EventKind::connection_broken};
    void on_event(const fakes::Event& event, Time now);
    /// Nothing while something is wrong, Redis or NATS is down or frozen, or no replica that has ticked is up.
    [[nodiscard]] std::optional<engine::Duration> lasts_for(Time now) const;

private:
    Time since_{};
    int lasting_ = 0;                  // faults that have begun and not ended
    std::set<fakes::NodeId> away_;     // down or frozen
    std::set<fakes::NodeId> tickers_;  // that have asked for a tick lock
};

}  // namespace lockstep::sim
