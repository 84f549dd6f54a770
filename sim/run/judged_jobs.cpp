#include "sim/run/judged_jobs.h"

#include <algorithm>
#include <iterator>

#include "sim/faults/trigger_matcher.h"

namespace lockstep::sim {

void JudgedJobs::on_event(const fakes::Event& event, Time) {
    present_ = job_of(event);
    if (event.kind == fakes::EventKind::submit && event.when == fakes::When::before) submitted_.emplace(event.job);
}

void JudgedJobs::exercised() { exercised_by(present_); }

void JudgedJobs::exercised_by(std::string_view job) {
    if (!job.empty() && !judged_.contains(job)) judged_.emplace(job);
}

std::set<std::string> JudgedJobs::unjudged() const {
    std::set<std::string> left;
    std::ranges::set_difference(submitted_, judged_, std::inserter(left, left.end()));
    return left;
}

}  // namespace lockstep::sim
