#include "sim/world/local_clock.h"

#include <gtest/gtest.h>

#include "fakes/rng.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;

Time since_start(Duration span) { return Time{span}; }

TEST(LocalClock, ShowsTheStartOf2026WhenTheRunBegins) {
    const LocalClock clock(0ns, {});
    EXPECT_EQ(engine::to_unix_micros(clock.wall(since_start(0s))), 1767225600000000);
    EXPECT_EQ(clock.wall(since_start(3s)) - clock.wall(since_start(1s)), 2s);
}

TEST(LocalClock, ShowsItsOffsetOnTheWallOnly) {
    const LocalClock exact(0ns, {});
    const LocalClock late(-50ms, {});
    EXPECT_EQ(late.wall(since_start(1s)) - exact.wall(since_start(1s)), -50ms);
    EXPECT_EQ(late.monotonic(since_start(1s)), exact.monotonic(since_start(1s)));
}

TEST(LocalClock, DriftsOnBothClocks) {
    const LocalClock fast(0ns, Drift::from_ppm(100));
    EXPECT_EQ(fast.monotonic(since_start(1000s)) - fast.monotonic(since_start(0s)), 1000s + 100ms);
    EXPECT_EQ(fast.wall(since_start(1000s)) - fast.wall(since_start(0s)), 1000s + 100ms);
    const LocalClock slow(0ns, Drift::from_ppm(-100));
    EXPECT_EQ(slow.monotonic(since_start(1000s)) - slow.monotonic(since_start(0s)), 1000s - 100ms);
}

TEST(LocalClock, JumpsOnTheWallOnly) {
    LocalClock clock(0ns, {});
    const MonoTime before = clock.monotonic(since_start(5s));
    clock.jump(-1h);
    EXPECT_EQ(clock.wall(since_start(5s)), perfect_wall(since_start(5s)) - 1h);
    EXPECT_EQ(clock.monotonic(since_start(5s)), before);
}

TEST(LocalClock, DoesNotStepWhenItsRateChanges) {
    LocalClock clock(0ns, Drift::from_ppm(500));
    const MonoTime before = clock.monotonic(since_start(100s));
    clock.set_drift(Drift::from_ppm(-20000), since_start(100s));
    EXPECT_EQ(clock.monotonic(since_start(100s)), before);
    EXPECT_EQ(clock.monotonic(since_start(200s)) - before, 98s);
}

// The instant found is the first one: there the clock shows enough, one nanosecond earlier it does not.
TEST(LocalClock, FindsTheFirstInstantAtWhichADeadlineHasPassed) {
    fakes::Rng rng(1, "test");
    for (int i = 0; i < 2000; ++i) {
        LocalClock clock(0ns, {static_cast<std::int64_t>(rng.below(2'000'000)) - 1'000'000});
        const Time now = since_start(Duration{static_cast<std::int64_t>(rng.below(1'000'000'000'000))});
        const MonoTime deadline =
            clock.monotonic(now) + Duration{static_cast<std::int64_t>(rng.below(1ULL << 50U)) + 1};
        const Time when = clock.when(deadline, now);
        ASSERT_GE(clock.monotonic(when), deadline);
        ASSERT_LT(clock.monotonic(when - 1ns), deadline);
    }
}

TEST(LocalClock, TreatsTheFarFutureAsNever) {
    const LocalClock fast(0ns, Drift::from_ppm(100));
    EXPECT_GT(fast.when(MonoTime::max(), since_start(1s)), since_start(24h * 365 * 20));
    const LocalClock exact(0ns, {});
    EXPECT_GT(exact.when(MonoTime::max(), since_start(1s)), since_start(24h * 365 * 20));
    EXPECT_EQ(exact.when(MonoTime{}, since_start(1s)), since_start(1s));
}

}  // namespace
}  // namespace lockstep::sim
