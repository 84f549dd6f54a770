#include "fakes/policy/velocity.h"

#include <gtest/gtest.h>

namespace lockstep::fakes::policy {
namespace {

using namespace std::chrono_literals;

class Velocity : public ::testing::Test {
protected:
    std::int64_t record(std::string job, engine::Duration at, const std::string& bucket = "acme") {
        return counter_.record("rule", bucket, std::move(job), 60s, engine::WallTime{1'700'000'000s + at});
    }

    VelocityCounter counter_;
};

TEST_F(Velocity, CountsTheJobsOfTheWindow) {
    EXPECT_EQ(record("a", 0s), 1);
    EXPECT_EQ(record("b", 10s), 2);
    EXPECT_EQ(record("c", 59s), 3);
}

TEST_F(Velocity, AJobLeavesWhenTheWindowHasPassed) {
    record("a", 0s);
    EXPECT_EQ(record("b", 59s), 2);
    EXPECT_EQ(record("c", 60s), 2);  // a is exactly a window old
}

TEST_F(Velocity, AJobThatIsSeenAgainCountsOnceAndStaysLonger) {
    record("a", 0s);
    EXPECT_EQ(record("a", 30s), 1);
    EXPECT_EQ(record("b", 70s), 2);
    EXPECT_EQ(record("b", 90s), 1);
}

TEST_F(Velocity, BucketsAndRulesCountApart) {
    record("a", 0s);
    EXPECT_EQ(record("b", 0s, "other"), 1);
    EXPECT_EQ(counter_.record("rule 2", "acme", "c", 60s, engine::WallTime{1'700'000'000s}), 1);
}

TEST_F(Velocity, RequestsWithoutAJobIdAlwaysCount) {
    record("", 0s);
    EXPECT_EQ(record("", 0s), 2);
}

}  // namespace
}  // namespace lockstep::fakes::policy
