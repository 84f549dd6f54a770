#include "sim/oracles/fail_closed.h"

#include <fmt/core.h>

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

bool reads_state(const fakes::Event& event) {
    const bool plain =
        event.command == "HGET" || event.command == "HMGET" || event.command == "HGETALL" || event.command == "GET";
    return plain && (event.key.starts_with(kJobHashPrefix) || event.key.starts_with(kJobStatePrefix));
}

}  // namespace

void FailClosed::on_answer(const fakes::Event& event) {
    // A server that does not know the script yet is sent it, and asked again.
    if (event.payload.starts_with("-NOSCRIPT")) return;
    Place place{event.node, std::string(event.job)};
    const bool failed = event.outcome != fakes::EventOutcome::applied || event.payload.starts_with('-');
    const bool given = given_.erase(place) > 0;
    if (failed) {
        // Whoever has read the state already asks for other things.
        if (held_.contains(place)) return;
        exercise();
        unread_.insert_or_assign(std::move(place), present());
        return;
    }
    if (given || reads_state(event)) unread_.erase(place);
    if (given) held_.insert(std::move(place));
}

void FailClosed::on_event(const fakes::Event& event, Time) {
    if (event.job.empty()) return;
    if (event.kind == fakes::EventKind::redis) {
        if (event.when == fakes::When::answered && (is_job_lock(event.key) || reads_state(event))) on_answer(event);
        return;
    }
    switch (event.kind) {
        case fakes::EventKind::lock_acquired:
        case fakes::EventKind::lock_released:
            std::erase_if(held_, [&event](const Place& place) { return place.second == event.job; });
            if (event.kind == fakes::EventKind::lock_acquired) given_.emplace(event.node, event.job);
            return;
        case fakes::EventKind::lock_renewed: given_.emplace(event.node, event.job); return;
        default: break;
    }
    const bool leaves = event.kind == fakes::EventKind::publish && event.when == fakes::When::before;
    if (!leaves || !is_worker_subject(event.subject)) return;
    const auto unread = unread_.find({event.node, std::string(event.job)});
    if (unread != unread_.end())
        violated(event.node, event.job,
                 fmt::format("it is published on {}, and its state could not be read before that", event.subject),
                 unread->second);
}

}  // namespace lockstep::sim
