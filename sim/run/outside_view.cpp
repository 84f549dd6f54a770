#include "sim/run/outside_view.h"

#include <optional>

#include "engine/wire/subjects.h"

namespace lockstep::sim {

namespace {

using fakes::Event;
using fakes::EventKind;
using fakes::When;

/// As it is seen by whoever subscribes to everything: nobody is named who sent or got it.
Event message_of(const Event& event, EventKind kind, When when) {
    return {.kind = kind,
            .when = when,
            .subject = event.subject,
            .job = event.job,
            .job_number = event.job_number,
            .payload = event.payload,
            .packet = event.packet};
}

std::optional<Event> seen(const Event& event) {
    const bool is_dispatch = engine::wire::worker_of(event.subject).has_value();
    switch (event.kind) {
        case EventKind::lock_acquired:
        case EventKind::lock_renewed:
        case EventKind::lock_released:
        case EventKind::lock_expired:
        case EventKind::submit:
        case EventKind::cancel:
        case EventKind::approve: return event;
        case EventKind::redis: {
            if (event.script.empty() || event.when == When::answered) return std::nullopt;
            Event call = event;
            call.payload = {};
            call.outcome = {};
            return call;
        }
        case EventKind::publish:
            if (event.when != When::applied) return std::nullopt;
            return message_of(event, EventKind::core_publish, When::before);
        case EventKind::core_publish:
            if (event.when != When::before) return std::nullopt;
            return message_of(event, event.kind, event.when);
        case EventKind::stored: {
            Event stored = message_of(event, event.kind, event.when);
            stored.message_id = event.message_id;
            stored.sequence = event.sequence;
            return stored;
        }
        case EventKind::deliver: {
            Event delivered = message_of(event, event.kind, event.when);
            delivered.stream = event.stream;
            delivered.name = event.name;
            delivered.sequence = event.sequence;
            delivered.number = event.number;
            return delivered;
        }
        case EventKind::term:
            if (event.when != When::applied) return std::nullopt;
            return Event{.kind = event.kind, .name = event.name, .stream = event.stream, .sequence = event.sequence};
        case EventKind::core_deliver: {
            // Told by the record of the worker that begins with it.
            if (!is_dispatch || event.job.empty()) return std::nullopt;
            Event begun = event;
            begun.packet = nullptr;
            begun.payload = {};
            return begun;
        }
        default: return std::nullopt;
    }
}

}  // namespace

void OutsideView::on_event(const Event& event, Time now) {
    const auto shown = seen(event);
    if (!shown) return;
    model_.on_event(*shown, now);
    if (Weather::kWanted.contains(shown->kind)) model_.weather().on_event(*shown, now);
}

}  // namespace lockstep::sim
