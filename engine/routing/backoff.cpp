#include "engine/routing/backoff.h"

#include <algorithm>

namespace lockstep::engine {

Duration backoff_delay(std::int64_t attempt, const Tunables& tunables, Entropy& entropy) {
    constexpr std::int64_t kMaxDoublings = 10;  // 2^10 s is far past any cap; more would overflow one day
    const std::int64_t doublings = std::clamp<std::int64_t>(attempt, 0, kMaxDoublings);
    const Duration grown = std::min(tunables.backoff_base * (std::int64_t{1} << doublings), tunables.backoff_max);
    const auto jitter_range = static_cast<std::uint64_t>(std::max<std::int64_t>(tunables.backoff_jitter.count(), 0));
    const Duration jitter{jitter_range == 0 ? 0 : static_cast<std::int64_t>(entropy.below(jitter_range))};
    return std::min(grown + jitter, tunables.backoff_max);
}

}  // namespace lockstep::engine
