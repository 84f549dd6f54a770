// The reconciler: ends jobs that nobody moves any more (seed internals, section 3; spec: redis-schema, section 3.10).
//
// One replica ticks. Its lock is never released, only kept: the holder renews it and ticks again every interval, and when it
// dies another one takes over within two intervals.
#pragma once

#include "engine/scheduler/context.h"
#include "engine/scheduler/dead_letters.h"

namespace lockstep::engine {

class Reconciler {
public:
    Reconciler(Context& context, DeadLetters& dead_letters);

    /// Ticks for ever.
    [[nodiscard]] Task<void> run();
    /// One tick, if this replica may.
    [[nodiscard]] Task<void> tick();

private:
    /// Times out what has been in `state` for longer than `age`.
    [[nodiscard]] Task<void> sweep_state(JobState state, Duration age);
    [[nodiscard]] Task<void> sweep_deadlines();
    /// True when the index entry is dealt with.
    [[nodiscard]] Task<bool> end_job(StaleJob stale, std::string index, std::optional<JobState> expected,
                                     std::string reason);

    Context& context_;
    DeadLetters& dead_letters_;
    std::string token_;
};

}  // namespace lockstep::engine
