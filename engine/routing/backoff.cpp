#include "engine/routing/backoff.h"

#include <algorithm>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

Duration backoff_delay(std::int64_t attempt, const Tunables& tunables, Entropy& entropy) {
    const std::int64_t doublings = std::clamp<std::int64_t>(attempt, 0, 62);
    const auto jitter_range = static_cast<std::uint64_t>(std::max<std::int64_t>(tunables.backoff_jitter.count(), 0));
    const Duration jitter{jitter_range == 0 ? 0 : static_cast<std::int64_t>(entropy.below(jitter_range))};
    // Compared before it is doubled, so that nothing overflows. An addition would be cut off by the cap, and all jobs would
    // come back at the same instant: there the jitter is taken off.
    const bool capped = tunables.backoff_base.count() > (tunables.backoff_max.count() - 1) >> doublings;
    if (capped) return std::max(tunables.backoff_max - jitter, Duration{0});
    const Duration grown = tunables.backoff_base * (std::int64_t{1} << doublings);
    INVARIANT(grown + jitter >= Duration{0}, "try {} comes {} ns after now", attempt, (grown + jitter).count());
    return std::min(grown + jitter, tunables.backoff_max);
}

Duration delay_without_room(Duration waited, const Tunables& tunables, Entropy& entropy) {
    const Duration least = std::max(tunables.safety_throttle_delay, Duration{0});
    const Duration most = std::clamp(waited, least, std::max(least, tunables.backoff_max));
    const auto half = static_cast<std::uint64_t>(most.count() / 2);
    return half == 0 ? most : most - Duration{static_cast<std::int64_t>(entropy.below(half))};
}

Duration time_of_all_tries(const Tunables& tunables) {
    Duration sum{};
    Duration delay = std::min(tunables.backoff_base, tunables.backoff_max);
    std::int64_t left = tunables.max_scheduling_retries;
    for (; left > 0 && delay > Duration{0} && delay < tunables.backoff_max; --left) {
        sum += delay;
        delay = delay > tunables.backoff_max / 2 ? tunables.backoff_max : 2 * delay;
    }
    constexpr Duration kLongest = std::chrono::hours{24 * 3650};
    if (delay <= Duration{0} || left <= 0) return sum;
    return left > (kLongest - sum) / delay ? kLongest : sum + left * delay;
}

}  // namespace lockstep::engine
