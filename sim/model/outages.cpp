#include "sim/model/outages.h"

#include "sim/scenario/catalogue.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::EventKind;

namespace {

bool is_of_nats(const fakes::Event& event) { return event.node == Topology::kNats || event.name.starts_with("nats."); }

}  // namespace

void Outages::on_event(const fakes::Event& event, Time now) {
    switch (event.kind) {
        case EventKind::node_down:
        case EventKind::node_up:
            if (is_of_nats(event)) new_server_ = now;
            [[fallthrough]];
        case EventKind::paused:
        case EventKind::resumed: (is_of_nats(event) ? nats_ : nodes_[event.node]) = now; break;
        case EventKind::redis:
            if (event.when == fakes::When::answered && event.outcome != fakes::EventOutcome::applied)
                nodes_[event.node] = now;
            break;
        case EventKind::fault: on_fault(event, now); break;
        default: break;
    }
}

void Outages::on_fault(const fakes::Event& event, Time now) {
    if (event.name == "nats.power_cut") power_cut_ = now;
    if (event.name == "nats.power_cut" || event.name == "nats.restart") new_server_ = now;
    unsure_ |= event.name.starts_with("clock_") || event.name == "nats.power_cut" || event.name == "corrupt";
    if (event.name.starts_with("worker.") || event.name.starts_with("output_policy.")) return;
    const bool of_nats = is_of_nats(event);
    (of_nats ? nats_ : others_) = now;
    if (end_of_fault(event.name) == FaultEnd::told)
        (of_nats ? nats_faults_ : other_faults_) += event.from == "begin" ? 1 : -1;
}

bool Outages::only_nats(fakes::NodeId replica, Time since) const {
    const auto node = nodes_.find(replica);
    return (node == nodes_.end() || node->second < since) && others_ < since && other_faults_ == 0;
}

}  // namespace lockstep::sim
