#include "sim/page/idle_time.h"

#include <gmock/gmock.h>

namespace lockstep::sim {
namespace {

using reports::Timeline;
using ::testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000;

TEST(IdleGaps, AreWhereNothingHappensForLong) {
    const auto gaps = idle_gaps({0, 1 * kSecond, 2 * kSecond, 100 * kSecond, 101 * kSecond}, 200 * kSecond);
    ASSERT_THAT(gaps, SizeIs(2));
    EXPECT_GT(gaps[0].from_us, 2 * kSecond) << "a margin stays, so that what is beside the fold stays apart";
    EXPECT_LT(gaps[0].to_us, 100 * kSecond);
    EXPECT_GT(gaps[0].to_us - gaps[0].from_us, 97 * kSecond);
    EXPECT_EQ(gaps[1].to_us, 200 * kSecond) << "up to the end of the run";
}

TEST(IdleGaps, OfManyTheLongestAreFoldedInTheOrderOfTime) {
    std::vector<std::int64_t> moments;
    std::int64_t at = 0;
    for (std::int64_t n = 0; n < 100; ++n) moments.push_back(at += (3 + n % 50) * kSecond);
    const auto gaps = idle_gaps(moments, at);
    ASSERT_THAT(gaps, SizeIs(30));
    for (std::size_t i = 0; i < gaps.size(); ++i) {
        EXPECT_GT(gaps[i].to_us - gaps[i].from_us, 35 * kSecond);
        if (i > 0) EXPECT_GE(gaps[i].from_us, gaps[i - 1].to_us);
    }
}

TEST(IdleGaps, AreNoneInARunThatNeverRests) {
    EXPECT_THAT(idle_gaps({0, kSecond, 2 * kSecond}, 3 * kSecond), SizeIs(0));
    EXPECT_THAT(idle_gaps({}, 0), SizeIs(0));
}

TEST(Opening, IsTheMinuteInWhichMostHappens) {
    Timeline timeline;
    timeline.end_us = 600 * kSecond;
    choose_opening({0, 200 * kSecond, 230 * kSecond, 255 * kSecond, 400 * kSecond, 455 * kSecond}, timeline);
    EXPECT_EQ(timeline.opens.what, "busiest minute");
    EXPECT_EQ(timeline.opens.from_us, 200 * kSecond);
    EXPECT_EQ(timeline.opens.to_us, 260 * kSecond);
}

TEST(Opening, OfAShortRunIsAllOfIt) {
    Timeline timeline;
    timeline.end_us = 30 * kSecond;
    choose_opening({0, 10 * kSecond}, timeline);
    EXPECT_EQ(timeline.opens.what, "whole run");
    EXPECT_EQ(timeline.opens.to_us, 30 * kSecond);
}

TEST(Opening, IsTheViolationWhereThereIsOne) {
    Timeline timeline;
    timeline.end_us = 600 * kSecond;
    timeline.events = {{.us = 100 * kSecond}, {.us = 110 * kSecond}};
    timeline.fact = 1;
    timeline.earlier = 0;
    choose_opening({300 * kSecond, 301 * kSecond}, timeline);
    EXPECT_EQ(timeline.opens.what, "violation");
    EXPECT_LT(timeline.opens.from_us, 100 * kSecond);
    EXPECT_GT(timeline.opens.to_us, 110 * kSecond);
    EXPECT_LT(timeline.opens.to_us - timeline.opens.from_us, 20 * kSecond);
}

}  // namespace
}  // namespace lockstep::sim
