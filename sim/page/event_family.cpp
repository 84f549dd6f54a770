#include "sim/page/event_family.h"

namespace lockstep::sim {

using fakes::EventKind;
using fakes::When;

reports::Timeline::Family family_of(const HistoryEvent& event) {
    using Family = reports::Timeline::Family;
    switch (event.kind) {
        case EventKind::lock_acquired:
        case EventKind::lock_renewed:
        case EventKind::lock_released:
        case EventKind::lock_expired: return Family::lock;
        case EventKind::state: return Family::state;
        case EventKind::node_up:
        case EventKind::node_down:
        case EventKind::paused:
        case EventKind::resumed:
        case EventKind::connection_broken:
        case EventKind::slow_consumer: return Family::life;
        case EventKind::fault: return Family::fault;
        case EventKind::heartbeat:
        case EventKind::reached:
        case EventKind::timer:
        case EventKind::metric:
        case EventKind::log: return Family::other;
        case EventKind::publish:
        case EventKind::core_publish:
        case EventKind::ack:
        case EventKind::nak:
        case EventKind::term:
        case EventKind::in_progress:
        case EventKind::redis:
        case EventKind::kernel_check:
        case EventKind::output_check:
            if (event.when == When::before) return Family::call;
            return event.when == When::applied ? Family::effect : Family::answer;
        case EventKind::stored:
        case EventKind::deliver:
        case EventKind::core_deliver:
        case EventKind::read_back:
        case EventKind::job_started:
        case EventKind::job_finished:
        case EventKind::result:
        case EventKind::submit:
        case EventKind::cancel:
        case EventKind::approve:
        case EventKind::max_deliveries: return Family::message;
    }
    return Family::other;
}

}  // namespace lockstep::sim
