#include "sim/oracles/heard_by_all.h"

#include <chrono>
#include <utility>

#include "engine/wire/subjects.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;

/// Much longer than a message is on its way where nothing is slow.
constexpr engine::Duration kHeardWithin = std::chrono::seconds{5};
/// Who was disturbed shortly before may still be making up for it.
constexpr engine::Duration kCalmBefore = std::chrono::seconds{5};

}  // namespace

void HeardByAll::on_event(const fakes::Event& event, EventNumber present, Time now) {
    if (event.kind == EventKind::node_down) listens_since_.erase(event.node);
    if (event.subject != engine::wire::kSubjectHeartbeat) return;
    if (event.kind == EventKind::stored) beats_.push_back({now, present, std::string(event.payload), {}});
    if (event.kind != EventKind::core_deliver || by_user(event.node)) return;
    listens_since_.try_emplace(event.node, now);
    // Of several in the same words nobody knows which one this is.
    for (Beat& beat : beats_)
        if (beat.payload == event.payload) beat.heard.insert(event.node);
}

std::vector<HeardByAll::Missed> HeardByAll::missed(const Weather& weather, Time now) {
    std::vector<Missed> out;
    while (!beats_.empty() && beats_.front().taken + kHeardWithin <= now) {
        const Beat beat = std::move(beats_.front());
        beats_.pop_front();
        for (const auto& [node, since] : listens_since_) {
            if (beat.heard.contains(node) || since >= beat.taken || !weather.clear_for(node, beat.taken - kCalmBefore))
                continue;
            out.push_back({node, beat.taken, beat.event});
        }
    }
    return out;
}

}  // namespace lockstep::sim
