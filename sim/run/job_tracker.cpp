#include "sim/run/job_tracker.h"

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

bool unfinished_in(std::string_view state) { return !is_final(state) && state != "APPROVAL_REQUIRED"; }

}  // namespace

void JobTracker::on_event(const fakes::Event& event, Time) {
    if (event.kind == fakes::EventKind::state) {
        enter(event.job, event.to);
    } else if (event.kind == fakes::EventKind::submit && !jobs_.contains(event.job)) {
        jobs_.emplace(event.job, "");
        ++unfinished_;
    }
}

void JobTracker::enter(std::string_view job, std::string_view state) {
    const auto [entry, fresh] = jobs_.try_emplace(std::string(job));
    if (!fresh) {
        unfinished_ -= unfinished_in(entry->second) ? 1 : 0;
        waiting_ -= entry->second == "APPROVAL_REQUIRED" ? 1 : 0;
    }
    entry->second = state;
    unfinished_ += unfinished_in(state) ? 1 : 0;
    waiting_ += state == "APPROVAL_REQUIRED" ? 1 : 0;
}

std::map<std::string, std::int64_t> JobTracker::states() const {
    std::map<std::string, std::int64_t> counts;
    for (const auto& [job, state] : jobs_) ++counts[state];
    return counts;
}

std::string JobTracker::state_of(std::string_view job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? std::string{} : found->second;
}

}  // namespace lockstep::sim
