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

/// By which a call's answer is known again.
std::string kind_of(const fakes::Event& event) { return std::string(event.command) + ' ' + std::string(event.script); }

}  // namespace

void FailClosed::note_answered(const fakes::Event& event) {
    const auto calls = asked_.find({event.node, std::string(event.job)});
    if (calls == asked_.end()) return;
    const auto kind = calls->second.find(kind_of(event));
    if (kind != calls->second.end() && --kind->second <= 0) calls->second.erase(kind);
    if (calls->second.empty()) asked_.erase(calls);
}

void FailClosed::on_applied(const fakes::Event& event) {
    // What it does to the lock has just been told.
    const auto given = given_.find({event.node, std::string(event.job)});
    if (given != given_.end() && given->second.empty()) given->second = kind_of(event);
}

/// Another call for the lock than the one that was given it may have failed in this way.
bool FailClosed::may_be_anothers(const fakes::Event& event) const {
    if (event.outcome == fakes::EventOutcome::not_applied) return true;
    const auto calls = asked_.find({event.node, std::string(event.job)});
    return calls != asked_.end() && calls->second.contains(kind_of(event));
}

void FailClosed::on_answer(const fakes::Event& event) {
    // A server that does not know the script yet is sent it, and asked again.
    if (event.payload.starts_with("-NOSCRIPT")) return;
    Place place{event.node, std::string(event.job)};
    const bool failed = event.outcome != fakes::EventOutcome::applied || event.payload.starts_with('-');
    const auto by = given_.find(place);
    const bool given = by != given_.end() && (by->second.empty() || by->second == kind_of(event)) &&
                       !(failed && may_be_anothers(event));
    if (given) given_.erase(by);
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
    if (event.kind == fakes::EventKind::node_down)
        std::erase_if(asked_, [&event](const auto& entry) { return entry.first.first == event.node; });
    if (event.job.empty()) return;
    if (event.kind == fakes::EventKind::redis) {
        if (is_job_lock(event.key)) {
            if (event.when == fakes::When::before) ++asked_[{event.node, std::string(event.job)}][kind_of(event)];
            if (event.when == fakes::When::applied) on_applied(event);
            if (event.when == fakes::When::answered) note_answered(event);
        }
        if (event.when == fakes::When::answered && (is_job_lock(event.key) || reads_state(event))) on_answer(event);
        return;
    }
    switch (event.kind) {
        case fakes::EventKind::lock_acquired:
            if (event.flag) return;  // found again: its holder goes on with what it has read
            [[fallthrough]];
        case fakes::EventKind::lock_released:
            std::erase_if(held_, [&event](const Place& place) { return place.second == event.job; });
            if (event.kind == fakes::EventKind::lock_acquired) given_[{event.node, std::string(event.job)}].clear();
            return;
        case fakes::EventKind::lock_renewed: given_[{event.node, std::string(event.job)}].clear(); return;
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
