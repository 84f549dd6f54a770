#include "sim/model/output_scan.h"

#include <algorithm>

namespace lockstep::sim {

void OutputScan::begin(fakes::NodeId scheduler, bool has_request, Time now) {
    begun = now;
    // The list comes before the mark.
    was_open_at_a_loss &=
        std::ranges::any_of(claims, [&](const Claim& one) { return one.replica != scheduler || one.since < now; });
    if (was_open_at_a_loss) return;
    is_open = true;
    is_unclear = !scheduler.valid() || !has_request;
    claims.clear();
    if (scheduler.valid()) claims.push_back({.replica = scheduler, .since = now});
}

void OutputScan::list(fakes::NodeId scheduler, Time now) {
    is_listed = true;
    if (!is_open && !was_open_at_a_loss) return;
    is_unclear |= !scheduler.valid();
    // One that claims again goes on.
    if (scheduler.valid() && claim_of(scheduler) == nullptr) claims.push_back({.replica = scheduler, .since = now});
}

void OutputScan::answered(const fakes::Event& answer) {
    const auto claim = std::ranges::find(claims, answer.node, &Claim::replica);
    if (!is_open || claim == claims.end()) return;
    if (answer.outcome == fakes::EventOutcome::applied)
        claim->is_heard = true;
    else
        ++claim->tries;
}

void OutputScan::data_lost() {
    was_open_at_a_loss |= is_open;
    end();
}

const OutputScan::Claim* OutputScan::claim_of(fakes::NodeId replica) const {
    const auto claim = std::ranges::find(claims, replica, &Claim::replica);
    return claim == claims.end() ? nullptr : &*claim;
}

bool OutputScans::asked(fakes::NodeId replica, EventNumber lock_taken, Since now) {
    auto known = std::ranges::find(heard, replica, &OutputHeard::replica);
    if (known == heard.end()) known = heard.insert(known, {.replica = replica});
    if (known->is_down) *known = {.replica = replica, .asked = known->asked};
    const bool is_about_result = lock_taken > known->asked.event;
    known->asked = now;
    return is_about_result;
}

void OutputScans::answered(const fakes::Event& answer, EventNumber event) {
    scan.answered(answer);
    const auto known = std::ranges::find(heard, answer.node, &OutputHeard::replica);
    if (answer.outcome != fakes::EventOutcome::applied || known == heard.end()) return;
    known->answered = event;
    known->is_against |= answer.to != "ALLOW" && !answer.to.empty();
    known->redacts = answer.to == "REDACT";
}

void OutputScans::lock_taken(fakes::NodeId replica) {
    std::erase_if(heard, [replica](const OutputHeard& one) { return one.replica == replica && one.is_down; });
}

void OutputScans::node_down(fakes::NodeId node) {
    scan.leave(node);
    for (OutputHeard& one : heard) one.is_down |= one.replica == node;
}

void OutputScans::request_lost() {
    std::erase_if(heard, [](const OutputHeard& one) { return !one.is_against; });
}

const OutputHeard* OutputScans::heard_by(fakes::NodeId replica) const {
    const auto known = std::ranges::find(heard, replica, &OutputHeard::replica);
    return known == heard.end() ? nullptr : &*known;
}

}  // namespace lockstep::sim
