// Cancellation at a request from the bus.
#pragma once

#include <deque>
#include <set>

#include "engine/runtime/identifiers.h"
#include "engine/runtime/scope.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

/// A cancel packet arrived (wire.md 9.2): ends the job unless it has ended. A failure of the store is counted
/// and logged; core NATS does not deliver again.
[[nodiscard]] Task<void> handle_cancel(Replica& replica, JobId job);

/// Cancellations from core NATS, which delivers as fast as anybody publishes: a few are at work at a time, some more wait.
/// Several about one job that wait are one. What comes beyond is dropped, counted and said: the message is best effort by its
/// nature. Whoever must be certain of the end writes it into the store before, as gateways do.
class CancelIntake {
public:
    /// The replica outlives the intake.
    explicit CancelIntake(Replica& replica);

    void take(const JobId& job);
    /// Drops what waits, and destroys what is at work where it stands.
    void stop() noexcept;

    [[nodiscard]] std::size_t at_work() const { return at_work_.size(); }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

private:
    /// Works off what waits, until nothing does.
    [[nodiscard]] Task<void> work_off();
    void note_dropped();

    Replica& replica_;
    std::deque<JobId> waiting_;
    std::set<JobId> waiting_jobs_;  // the same, to be looked up
    std::size_t waiting_bytes_ = 0;
    bool dropping_ = false;  // since the queue was last empty; said once
    Scope at_work_;          // last: its tasks use everything above
};

}  // namespace lockstep::engine
