// Waiting for a job's lock: for 2 s, with a look every 25 ms at first and less often later (redis-schema.md 5).
#pragma once

#include <algorithm>

#include "engine/config/context.h"
#include "engine/store/job_store.h"

namespace lockstep::engine {

/// The longest pause between two looks, in first ones.
inline constexpr int kLockPollGrowth = 8;
static_assert(kLockPollGrowth * kDefaultTunables.lock_poll < kDefaultTunables.lock_wait,
              "a wait has more than two looks");

/// Repeats `attempt()` (a Task<Outcome<std::optional<JobFacts>>>, nothing = busy) until it is not busy any more or the wait is
/// over. An attempt may carry a whole request: between two of them the lock is only looked at, until it is free or cannot be
/// seen. `lease` names the lock and outlives the call; `attempt` is kept in this coroutine's frame.
template <class Attempt>
[[nodiscard, gnu::noinline]] Task<Outcome<std::optional<JobFacts>>> wait_for_lock(const Context& context,
                                                                                  JobStore& store,
                                                                                  const JobLease& lease,
                                                                                  Attempt attempt) {
    const MonoTime began = context.ports.clock.monotonic();
    const MonoTime give_up = began + context.tunables.lock_wait;
    Duration pause = context.tunables.lock_poll;
    while (true) {
        auto taken = co_await attempt();
        bool held = taken.applied() && !taken.value().has_value();
        while (held && context.ports.clock.monotonic() < give_up) {
            co_await context.ports.clock.sleep(std::min(pause, give_up - context.ports.clock.monotonic()));
            pause = std::min(2 * pause, kLockPollGrowth * context.tunables.lock_poll);
            const auto seen = co_await store.lock_is_held(lease);
            held = seen.applied() && seen.value();
        }
        const bool busy = taken.applied() && !taken.value().has_value();
        if (busy && !held) continue;
        context.ports.metrics.observe(Metric::job_lock_wait,
                                      std::chrono::duration<double>(context.ports.clock.monotonic() - began).count());
        co_return taken;
    }
}

}  // namespace lockstep::engine
