#include "engine/scheduler/cancel.h"

#include <utility>

namespace lockstep::engine {

namespace {

/// Each is one call of the store; so many keep it busy, and more would only wait there.
constexpr std::size_t kAtWorkMax = 32;
/// Ten thousand jobs of a workflow may be cancelled in one go.
constexpr std::size_t kWaitingMax = 10'000;
/// Ids have no limit of their own.
constexpr std::size_t kWaitingBytesMax = 4 * 1024 * 1024;

}  // namespace

Task<void> handle_cancel(Replica& replica, JobId job) {
    const auto cancelled = co_await replica.store.cancel(job);
    if (!cancelled.applied()) {
        replica.ports.metrics.add(Metric::job_cancel_failures);
        replica.ports.log.event(LogLevel::error, "cancellation not stored",
                                {{"job_id", job}, {"error", cancelled.failure().detail}});
        co_return;
    }
    if (!cancelled.value().now)
        replica.ports.log.event(LogLevel::warn, "cancellation of an unknown job", {{"job_id", job}});
}

CancelIntake::CancelIntake(Replica& replica) : replica_(replica), at_work_(replica.ports.executor) {}

void CancelIntake::take(const JobId& job) {
    // One that is at work is no reason to drop another: the job may not have been known when it was asked for.
    if (waiting_jobs_.contains(job)) return;
    if (waiting_.size() >= kWaitingMax || waiting_bytes_ + job.text().size() > kWaitingBytesMax) {
        note_dropped();
        return;
    }
    waiting_.push_back(job);
    waiting_jobs_.insert(job);
    waiting_bytes_ += job.text().size();
    if (at_work_.size() < kAtWorkMax) at_work_.spawn(work_off());
}

Task<void> CancelIntake::work_off() {
    while (!waiting_.empty()) {
        JobId job = std::move(waiting_.front());
        waiting_.pop_front();
        waiting_jobs_.erase(job);
        waiting_bytes_ -= job.text().size();
        co_await handle_cancel(replica_, std::move(job));
    }
    dropping_ = false;
}

void CancelIntake::note_dropped() {
    replica_.ports.metrics.add(Metric::cancels_dropped);
    if (std::exchange(dropping_, true)) return;
    replica_.ports.log.reached("cancel_dropped");
    replica_.ports.log.event(LogLevel::error, "cancellations dropped: more are published than the store takes",
                             {{"waiting", waiting_.size()}, {"bytes", waiting_bytes_}});
}

void CancelIntake::stop() noexcept {
    at_work_.cancel();
    waiting_.clear();
    waiting_jobs_.clear();
    waiting_bytes_ = 0;
}

}  // namespace lockstep::engine
