// The reconciler: ends jobs that nobody moves any more (seed internals, section 3; spec: redis-schema, section 3.10).
//
// One replica ticks, see ticker.h. What it ends, it ends by comparing: a job that has moved since it was listed is left alone.
#pragma once

#include "engine/reconcile/ticker.h"
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
    Ticker ticker_;
};

}  // namespace lockstep::engine
