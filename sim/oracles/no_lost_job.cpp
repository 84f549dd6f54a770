#include "sim/oracles/no_lost_job.h"

#include <fmt/core.h>

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

std::string_view waits_for(std::string_view state) {
    if (state.empty()) return "it is not known to Redis: its submission was never taken up";
    if (state == "PENDING") return "it is PENDING: it waits for a scheduler to take it up, for policy or for a worker";
    if (state == "SCHEDULED") return "it is SCHEDULED: it waits for its next dispatch";
    if (state == "DISPATCHED") return "it is DISPATCHED: it waits for a result or for the reconciler";
    if (state == "RUNNING") return "it is RUNNING: it waits for a result or for the reconciler";
    return "it is in an unknown state";
}

}  // namespace

void NoLostJob::on_event(const fakes::Event& event, Time) {
    if (event.kind != fakes::EventKind::submit || event.when != fakes::When::answered || !event.flag) return;
    if (acknowledged_.emplace(event.job, present()).second) exercise();
}

void NoLostJob::at_rest(const RestView& view) {
    for (const auto& [job, when] : acknowledged_) {
        const std::string state = job_state(view.redis, job);
        if (is_final(state) || state == "APPROVAL_REQUIRED") continue;
        violated({}, job, fmt::format("its submission was acknowledged, and at the end {}", waits_for(state)), when);
    }
}

}  // namespace lockstep::sim
