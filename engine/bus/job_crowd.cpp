#include "engine/bus/job_crowd.h"

namespace lockstep::engine {

JobCrowd::Place JobCrowd::enter(const JobId& job) {
    OfJob& of_job = jobs_[job];
    return of_job.standing == 0 ? take(of_job, job) : Place{};
}

JobCrowd::Place JobCrowd::take(OfJob& of_job, const JobId& job) {
    if (of_job.handled >= most_) return {};
    ++of_job.handled;
    return {*this, job};
}

Task<JobCrowd::Place> JobCrowd::wait(JobId job, MonoTime deadline) {
    Place place = enter(job);
    if (place) co_return place;
    /// Keeps the job's entry, left however this coroutine ends.
    struct Standing {
        JobCrowd& crowd;
        const JobId& job;
        OfJob& of_job;
        ~Standing() {
            --of_job.standing;
            crowd.forget_if_empty(job);
        }
    };
    OfJob& of_job = jobs_.at(job);
    ++of_job.standing;
    const Standing standing{*this, job, of_job};
    const bool called = co_await of_job.line.wait_until(deadline);
    if (called) place = take(of_job, job);
    co_return place;
}

void JobCrowd::send_away() noexcept {
    for (auto& [job, of_job] : jobs_) of_job.line.wake_all();
}

void JobCrowd::leave(const JobId& job) noexcept {
    OfJob& of_job = jobs_.at(job);
    INVARIANT(of_job.handled > 0 && of_job.handled <= most_, "{} of {} at most leave job {}", of_job.handled, most_,
              job);
    --of_job.handled;
    of_job.line.wake_one();
    forget_if_empty(job);
}

void JobCrowd::forget_if_empty(const JobId& job) noexcept {
    const auto found = jobs_.find(job);
    if (found->second.handled == 0 && found->second.standing == 0) jobs_.erase(found);
}

}  // namespace lockstep::engine
