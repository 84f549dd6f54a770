#include "sim/scenario/glob.h"

#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

TEST(Glob, LetsAStarStandForAnyRun) {
    EXPECT_TRUE(glob_matches("worker.*.jobs", "worker.w-2.jobs"));
    EXPECT_TRUE(glob_matches("worker.*.jobs", "worker..jobs"));
    EXPECT_TRUE(glob_matches("*", ""));
    EXPECT_TRUE(glob_matches("a*b*c", "a-b-b-c"));
    EXPECT_TRUE(glob_matches("job:*", "job:meta:1"));
    EXPECT_FALSE(glob_matches("a*b*c", "a-c-b"));
    EXPECT_FALSE(glob_matches("job", "jobs"));
    EXPECT_FALSE(glob_matches("", "job"));
}

TEST(Glob, TakesTheTailTokenOfSubjects) {
    EXPECT_TRUE(subject_matches("sys.>", "sys.job.submit"));
    EXPECT_TRUE(subject_matches("sys.*.>", "sys.job.submit"));
    EXPECT_TRUE(subject_matches(">", "job.a"));
    EXPECT_TRUE(subject_matches("", "job.a"));
    EXPECT_TRUE(subject_matches("job.*", "job.a.b"));
    EXPECT_FALSE(subject_matches("sys.>", "sys."));
    EXPECT_FALSE(subject_matches("sys.>", "sys"));
    EXPECT_FALSE(subject_matches("sys.>", "job.sys.a"));
}

}  // namespace
}  // namespace lockstep::sim
