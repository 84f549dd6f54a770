#include "sim/run/judged_jobs.h"

#include <algorithm>
#include <iterator>

#include "sim/faults/trigger_matcher.h"

namespace lockstep::sim {

void JudgedJobs::on_event(const fakes::Event& event, Time) {
    present_ = job_of(event);
    if (event.kind == fakes::EventKind::submit && event.when == fakes::When::before) submitted_.emplace(event.job);
}

void JudgedJobs::exercised() {
    if (!present_.empty() && !judged_.contains(present_)) judged_.emplace(present_);
}

std::set<std::string> JudgedJobs::unjudged() const {
    std::set<std::string> left;
    std::ranges::set_difference(submitted_, judged_, std::inserter(left, left.end()));
    return left;
}

}  // namespace lockstep::sim
