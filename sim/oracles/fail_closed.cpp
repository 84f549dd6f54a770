#include "sim/oracles/fail_closed.h"

#include <fmt/core.h>

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

bool reads_state(const fakes::Event& event) {
    if (event.script == "take_up" || event.script == "take_lock") return true;
    const bool plain = event.command == "HGET" || event.command == "HMGET" || event.command == "HGETALL" || event.command == "GET";
    return plain && (event.key.starts_with(kJobHashPrefix) || event.key.starts_with("job:state:"));
}

}  // namespace

void FailClosed::on_event(const fakes::Event& event, Time) {
    if (event.job.empty()) return;
    if (event.kind == fakes::EventKind::redis && event.when == fakes::When::answered && reads_state(event)) {
        const bool failed = event.outcome != fakes::EventOutcome::applied || event.payload.starts_with('-');
        Place place{event.node, std::string(event.job)};
        if (failed) {
            exercise();
            if (!held_.contains(place)) unread_.insert_or_assign(std::move(place), present());
        } else {
            unread_.erase(place);
            if (event.payload.find("\r\nheld\r\n") != std::string_view::npos) held_.insert(std::move(place));
        }
        return;
    }
    switch (event.kind) {
        case fakes::EventKind::lock_acquired:
        case fakes::EventKind::lock_released:
        case fakes::EventKind::lock_expired:
            std::erase_if(held_, [&event](const Place& place) { return place.second == event.job; });
            return;
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
