#include "engine/routing/backoff.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/testing/recorders.h"

namespace lockstep::engine {
namespace {

class Backoff : public ::testing::Test {
protected:
    [[nodiscard]] Duration delay(std::int64_t attempt) { return backoff_delay(attempt, tunables, entropy); }

    Tunables tunables;
    engine::testing::SeededEntropy entropy;
};

// BACK-01, BACK-02
TEST_F(Backoff, DoublesFromOneSecondWithUpToHalfASecondOfJitter) {
    for (int i = 0; i < 200; ++i) {
        for (const auto& [attempt, base] : {std::pair{0, 1s}, {1, 2s}, {2, 4s}, {3, 8s}, {4, 16s}}) {
            const Duration drawn = delay(attempt);
            EXPECT_GE(drawn, base);
            EXPECT_LT(drawn, base + 500ms);
        }
    }
}

// BACK-03
TEST_F(Backoff, TakesTheJitterOffThirtySecondsFromTheFifthTryOn) {
    for (const std::int64_t attempt : {5, 6, 10, 11, 49, 63, 64, 1'000'000}) {
        for (int i = 0; i < 200; ++i) {
            const Duration drawn = delay(attempt);
            EXPECT_GT(drawn, 29500ms) << attempt;
            EXPECT_LE(drawn, 30s) << attempt;
        }
    }
}

// BACK-04
TEST_F(Backoff, DelaysOfTheSameTryDiffer) {
    for (const std::int64_t attempt : {0, 1, 2, 3, 4, 5, 10, 49, 1'000'000}) {
        std::set<Duration> drawn;
        for (int i = 0; i < 20; ++i) drawn.insert(delay(attempt));
        EXPECT_GT(drawn.size(), 1u) << attempt;
    }
}

TEST_F(Backoff, WhoFindsNoRoomWaitsForUpToAsLongAgainAndNeverLongerThanBackoffMax) {
    for (const auto& [waited, most] : {std::pair{-1s, 5s}, {0s, 5s}, {5s, 5s}, {12s, 12s}, {30s, 30s}, {3600s, 30s}}) {
        std::set<Duration> drawn;
        for (int i = 0; i < 200; ++i) drawn.insert(delay_without_room(waited, tunables, entropy));
        EXPECT_GT(*drawn.begin(), most / 2);
        EXPECT_LE(*drawn.rbegin(), most);
        EXPECT_GT(drawn.size(), 100u) << "they do not come back together";
    }
    tunables.safety_throttle_delay = 40s;
    EXPECT_GT(delay_without_room(1h, tunables, entropy), 20s) << "shorter than backoff_max it is not";
}

TEST_F(Backoff, IsNeverNegativeWhereTheJitterIsLongerThanTheLongestDelay) {
    tunables.backoff_base = 100ms;
    tunables.backoff_max = 100ms;
    bool zero = false, more = false;
    for (int i = 0; i < 200; ++i) {
        const Duration drawn = delay(3);
        EXPECT_GE(drawn, 0ms);
        EXPECT_LE(drawn, 100ms);
        (drawn == 0ms ? zero : more) = true;
    }
    EXPECT_TRUE(zero && more);
}

TEST_F(Backoff, AllTriesTogetherTakeTheSumOfTheirDelays) {
    EXPECT_EQ(time_of_all_tries(tunables), 1381s);
    tunables.max_scheduling_retries = 3;
    EXPECT_EQ(time_of_all_tries(tunables), 7s);
    tunables.backoff_base = 0s;
    EXPECT_EQ(time_of_all_tries(tunables), 0s);
}

TEST_F(Backoff, ANegativeTryCountsAsNone) {
    EXPECT_LT(delay(-5), 1500ms);
    EXPECT_GE(delay(-5), 1s);
}

TEST_F(Backoff, WithoutJitterItIsExactAndDrawsNothing) {
    tunables.backoff_jitter = Duration{0};
    EXPECT_EQ(delay(2), 4s);
    EXPECT_EQ(entropy.next(), engine::testing::SeededEntropy().next());
}

}  // namespace
}  // namespace lockstep::engine
