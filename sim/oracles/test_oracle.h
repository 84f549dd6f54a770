// An oracle by itself: events are made by hand, and what it finds is kept.
#pragma once

#include <string>
#include <vector>

#include "engine/wire/messages.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim::testing {

struct KeepingJudge final : Judge {
    std::vector<std::string> found;  // "job: detail"
    EventNumber number = 0;          // of the event that was told last
    void violated(std::string_view, fakes::NodeId, std::string_view job, std::string detail, EventNumber) override {
        found.push_back(std::string(job) + ": " + detail);
    }
    EventNumber present() override { return number; }
};

inline fakes::Event event_of(fakes::EventKind kind, std::string_view job, fakes::When when = fakes::When::applied) {
    fakes::Event event;
    event.kind = kind;
    event.when = when;
    event.outcome = fakes::EventOutcome::applied;
    event.job = job;
    return event;
}

inline fakes::Event state_event(std::string_view job, std::string_view from, std::string_view to) {
    fakes::Event event = event_of(fakes::EventKind::state, job);
    event.from = from;
    event.to = to;
    return event;
}

}  // namespace lockstep::sim::testing
