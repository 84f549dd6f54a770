// Whether anything is broken: faults that are in force, and when something last was amiss. For oracles that judge how soon
// something happens while nothing is.
#pragma once

#include <optional>

#include "fakes/event.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class Calm {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::fault, fakes::EventKind::node_up, fakes::EventKind::node_down};
    void on_event(const fakes::Event& event, Time now);
    /// Data was lost.
    void restored(Time now) { trouble(now); }

    [[nodiscard]] bool disturbed() const { return disturbances_ > 0; }
    /// Since when nothing has begun, ended, started or gone down.
    [[nodiscard]] Time since() const { return since_; }
    /// When a fault last began or ended, or a node went down; nothing: never. Nodes that start are no trouble.
    [[nodiscard]] std::optional<Time> last_trouble() const { return last_trouble_; }

private:
    void trouble(Time now);

    int disturbances_ = 0;
    Time since_{};
    std::optional<Time> last_trouble_;
};

}  // namespace lockstep::sim
