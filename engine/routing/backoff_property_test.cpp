#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/routing/backoff.h"
#include "engine/testing/recorders.h"

namespace lockstep::engine {
namespace {

/// The settings of one case; at most an hour each, so that the sum with any power of two below the cap fits.
Tunables drawn_tunables() {
    Tunables tunables;
    tunables.backoff_base = std::chrono::milliseconds(*rc::gen::inRange(0, 60'000).as("base, ms"));
    tunables.backoff_max = std::chrono::milliseconds(*rc::gen::inRange(0, 3'600'000).as("max, ms"));
    tunables.backoff_jitter = std::chrono::milliseconds(*rc::gen::inRange(0, 10'000).as("jitter, ms"));
    return tunables;
}

/// The delay without jitter, in wide numbers: nothing can overflow.
Duration without_jitter(std::int64_t attempt, const Tunables& tunables) {
    using Wide = __int128;
    Wide grown = tunables.backoff_base.count();
    for (std::int64_t i = 0; i < attempt && grown < tunables.backoff_max.count(); ++i) grown *= 2;
    return Duration(static_cast<std::int64_t>(std::min<Wide>(grown, tunables.backoff_max.count())));
}

// BACK-01, BACK-02, BACK-03
RC_GTEST_PROP(BackoffProperty, IsTheDocumentedDelayWithinItsBounds, ()) {
    const Tunables tunables = drawn_tunables();
    testing::SeededEntropy entropy(*rc::gen::arbitrary<std::uint64_t>().as("seed"));
    const auto attempt = *rc::gen::inRange<std::int64_t>(-3, 2000).as("attempt");
    const Duration delay = backoff_delay(attempt, tunables, entropy);
    const Duration grown = without_jitter(attempt, tunables);
    const Duration jitter = std::max(tunables.backoff_jitter, Duration{1});
    RC_ASSERT(delay >= Duration{0});
    RC_ASSERT(delay <= tunables.backoff_max);
    if (grown < tunables.backoff_max) RC_ASSERT(delay >= grown && delay < grown + jitter);
    if (grown == tunables.backoff_max) RC_ASSERT(delay > grown - jitter);
}

RC_GTEST_PROP(BackoffProperty, ALaterTryNeverWaitsLessApartFromJitter, ()) {
    Tunables tunables = drawn_tunables();
    tunables.backoff_jitter = Duration{0};
    testing::SeededEntropy entropy;
    const auto attempt = *rc::gen::inRange<std::int64_t>(-3, 2000).as("attempt");
    const auto later = *rc::gen::inRange<std::int64_t>(0, 2000).as("later by");
    RC_ASSERT(backoff_delay(attempt, tunables, entropy) <= backoff_delay(attempt + later, tunables, entropy));
}

// BACK-04: with the same settings the jitter takes every tenth of its range, whatever the number of tries.
RC_GTEST_PROP(BackoffProperty, JitterCoversItsWholeRange, ()) {
    Tunables tunables;
    tunables.backoff_max = std::chrono::hours{1};
    tunables.backoff_jitter = std::chrono::milliseconds(*rc::gen::inRange(10, 10'000).as("jitter, ms"));
    testing::SeededEntropy entropy(*rc::gen::arbitrary<std::uint64_t>().as("seed"));
    const auto attempt = *rc::gen::element<std::int64_t>(0, 3, 12, 49, 2000).as("attempt");
    unsigned tenths = 0;
    for (int i = 0; i < 1000; ++i) {
        const Duration delay = backoff_delay(attempt, tunables, entropy);
        const Duration grown = without_jitter(attempt, tunables);
        const Duration jitter = grown < tunables.backoff_max ? delay - grown : grown - delay;
        tenths |= 1U << static_cast<unsigned>(jitter * 10 / tunables.backoff_jitter);
    }
    RC_ASSERT(tenths == 0x3ffU);
}

}  // namespace
}  // namespace lockstep::engine
