#include "fakes/nats/subject.h"

#include <gtest/gtest.h>

namespace lockstep::fakes {
namespace {

TEST(Subject, WithoutWildcardsOnlyItselfMatches) {
    EXPECT_TRUE(subject_matches("sys.job.submit", "sys.job.submit"));
    EXPECT_FALSE(subject_matches("sys.job.submit", "sys.job"));
    EXPECT_FALSE(subject_matches("sys.job", "sys.job.submit"));
    EXPECT_FALSE(subject_matches("sys.job", "sys.jobs"));
}

TEST(Subject, AStarStandsForExactlyOneToken) {
    EXPECT_TRUE(subject_matches("worker.*.jobs", "worker.w-1.jobs"));
    EXPECT_FALSE(subject_matches("worker.*.jobs", "worker.a.b.jobs"));
    EXPECT_FALSE(subject_matches("worker.*.jobs", "worker.jobs"));
    EXPECT_TRUE(subject_matches("*", "one"));
}

TEST(Subject, AFinalAngleStandsForOneOrMoreTokens) {
    EXPECT_TRUE(subject_matches("sys.>", "sys.heartbeat"));
    EXPECT_TRUE(subject_matches("sys.>", "sys.job.submit"));
    EXPECT_FALSE(subject_matches("sys.>", "sys"));
    EXPECT_TRUE(subject_matches(">", "anything.at.all"));
}

TEST(Subject, AWildcardIsAWholeToken) {
    EXPECT_TRUE(has_wildcard("job.>"));
    EXPECT_TRUE(has_wildcard("worker.*.jobs"));
    EXPECT_FALSE(has_wildcard("job.a*b.c"));
    EXPECT_FALSE(has_wildcard("job.>.c"));
}

}  // namespace
}  // namespace lockstep::fakes
