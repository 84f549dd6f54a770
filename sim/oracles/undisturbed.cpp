#include "sim/oracles/undisturbed.h"

#include <algorithm>

#include "sim/model/job_keys.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;

}  // namespace

void Undisturbed::on_event(const fakes::Event& event, Time now) {
    switch (event.kind) {
        case EventKind::redis:
            if (is_tick_lock(event.key)) tickers_.insert(event.node);
            return;
        case EventKind::fault:
            if (end_of_fault(event.name) == FaultEnd::told) lasting_ += event.from == "begin" ? 1 : -1;
            break;
        case EventKind::node_down:
        case EventKind::paused: away_.insert(event.node); break;
        case EventKind::node_up:
        case EventKind::resumed: away_.erase(event.node); break;
        case EventKind::connection_broken: break;
        default: return;
    }
    since_ = now;
}

std::optional<engine::Duration> Undisturbed::lasts_for(Time now) const {
    const bool anybody = std::ranges::any_of(tickers_, [this](fakes::NodeId node) { return !away_.contains(node); });
    const bool servers = !away_.contains(Topology::kRedis) && !away_.contains(Topology::kNats);
    if (lasting_ > 0 || !anybody || !servers) return std::nullopt;
    return now - since_;
}

}  // namespace lockstep::sim
