#include "sim/oracles/policy_before_dispatch.h"

#include <fmt/core.h>

#include "engine/wire/messages.h"
#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

void PolicyBeforeDispatch::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case fakes::EventKind::kernel_check:
            if (event.when == fakes::When::applied && (event.to == "ALLOW" || event.to == "ALLOW_WITH_CONSTRAINTS"))
                allowed_.emplace(event.job);
            break;
        case fakes::EventKind::approve:
            approved_.emplace(event.job);
            break;
        case fakes::EventKind::core_deliver:
            if (is_worker_subject(event.subject) && event.packet != nullptr) on_arrival(event);
            break;
        default: break;
    }
}

void PolicyBeforeDispatch::on_arrival(const fakes::Event& event) {
    exercise();
    const auto& request = event.packet->job_request();
    const bool recorded_bypass = request.labels().contains("safety_bypassed");
    if (recorded_bypass || approved_.contains(event.job)) return;
    if (!allowed_.contains(event.job))
        violated(event.node, event.job, fmt::format("it arrived on {}, and policy has never allowed it", event.subject));
}

}  // namespace lockstep::sim
