// Waiting for a job's lock: a try every 25 ms for 2 s (spec: redis-schema, section 5).
#pragma once

#include "engine/scheduler/context.h"

namespace lockstep::engine {

/// Repeats `attempt()` (a Task<Outcome<std::optional<JobFacts>>>, nothing = busy) until it is not busy any more or the wait is
/// over. `attempt` is kept in this coroutine's frame.
template <class Attempt>
[[nodiscard]] Task<Outcome<std::optional<JobFacts>>> wait_for_lock(Context& context, Attempt attempt) {
    const MonoTime began = context.ports.clock.monotonic();
    const MonoTime give_up = began + context.tunables.lock_wait;
    while (true) {
        auto taken = co_await attempt();
        const bool busy = taken.applied() && !taken.value().has_value();
        const MonoTime now = context.ports.clock.monotonic();
        if (!busy || now >= give_up) {
            context.ports.metrics.observe(Metric::job_lock_wait, std::chrono::duration<double>(now - began).count());
            co_return taken;
        }
        co_await context.ports.clock.sleep(context.tunables.lock_poll);
    }
}

}  // namespace lockstep::engine
