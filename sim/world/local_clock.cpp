#include "sim/world/local_clock.h"

#include <algorithm>

namespace lockstep::sim {

namespace {

constexpr std::int64_t kBillion = 1'000'000'000;
constexpr double kPpmMax = 500'000;

}  // namespace

Drift Drift::from_ppm(double ppm) {
    const double ppb = std::clamp(ppm, -kPpmMax, kPpmMax) * 1000.0;
    return {static_cast<std::int64_t>(ppb + (ppb < 0 ? -0.5 : 0.5))};
}

Duration LocalClock::stretched(Duration elapsed) const {
    if (drift_.ppb == 0) return elapsed;
    // elapsed * ppb overflows after hours; seconds and remainder apart give the same floor without wide integers.
    const std::int64_t seconds = elapsed.count() / kBillion;
    const std::int64_t product = elapsed.count() % kBillion * drift_.ppb;
    const std::int64_t floor = product / kBillion - (product % kBillion < 0 ? 1 : 0);
    return Duration{elapsed.count() + seconds * drift_.ppb + floor};
}

Time LocalClock::when(MonoTime local, Time now) const {
    if (local <= monotonic(now)) return now;
    // A deadline in the far future means "never"; a century or so later is never, too, and overflows nothing.
    constexpr Duration kForever = Duration::max() / 4;
    const Duration wanted = std::min<Duration>(local - base_mono_, kForever);
    if (drift_.ppb == 0) return base_virtual_ + wanted;
    const __int128 exact = static_cast<__int128>(wanted.count()) * kBillion / (kBillion + drift_.ppb);
    Duration elapsed{static_cast<std::int64_t>(std::min<__int128>(exact, kForever.count()))};
    while (elapsed < kForever && stretched(elapsed) < wanted) ++elapsed;
    return std::max(now, base_virtual_ + elapsed);
}

void LocalClock::set_drift(Drift drift, Time now) {
    base_mono_ = monotonic(now);
    base_virtual_ = now;
    drift_ = drift;
}

}  // namespace lockstep::sim
