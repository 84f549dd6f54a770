#include "sim/oracles/calm.h"

#include <algorithm>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

void Calm::on_event(const fakes::Event& event, Time now) {
    switch (event.kind) {
        case fakes::EventKind::fault:
            // Of what becomes of a node, the fault tells as well.
            if (end_of_fault(event.name) != FaultEnd::at_once)
                disturbances_ = std::max(0, disturbances_ + (event.from == "begin" ? 1 : -1));
            trouble(now);
            break;
        case fakes::EventKind::node_up: since_ = now; break;
        case fakes::EventKind::node_down: trouble(now); break;
        default: break;
    }
}

void Calm::trouble(Time now) {
    since_ = now;
    last_trouble_ = now;
}

}  // namespace lockstep::sim
