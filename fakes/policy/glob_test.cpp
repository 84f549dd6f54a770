#include "fakes/policy/glob.h"

#include <gtest/gtest.h>

namespace lockstep::fakes::policy {
namespace {

TEST(Glob, AStarTakesAnyRunOfCharactersDotsIncluded) {
    EXPECT_TRUE(glob_matches("job.*", "job.default"));
    EXPECT_TRUE(glob_matches("job.*", "job.etl.load"));
    EXPECT_TRUE(glob_matches("*", ""));
    EXPECT_TRUE(glob_matches("job.*.load", "job.etl.eu.load"));
    EXPECT_FALSE(glob_matches("job.*.load", "job.load"));
    EXPECT_FALSE(glob_matches("job.*", "sys.job"));
}

TEST(Glob, AStarStopsAtASlash) {
    EXPECT_FALSE(glob_matches("job.*", "job.a/b"));
    EXPECT_TRUE(glob_matches("job.*/b", "job.a/b"));
    EXPECT_FALSE(glob_matches("*a*", "x/a"));
}

TEST(Glob, AQuestionMarkTakesOneCharacter) {
    EXPECT_TRUE(glob_matches("job.?", "job.a"));
    EXPECT_FALSE(glob_matches("job.?", "job."));
    EXPECT_FALSE(glob_matches("job?a", "job/a"));
}

TEST(Glob, ASetTakesOneOfItsCharacters) {
    EXPECT_TRUE(glob_matches("job.[a-c]1", "job.b1"));
    EXPECT_FALSE(glob_matches("job.[a-c]", "job.d"));
    EXPECT_TRUE(glob_matches("job.[^a-c]", "job.d"));
    EXPECT_FALSE(glob_matches("job.[^a-c]", "job.a"));
    EXPECT_TRUE(glob_matches("[\\]]", "]"));
}

TEST(Glob, AMalformedPatternMatchesNothing) {
    EXPECT_FALSE(glob_matches("job.[a", "job.a"));
    EXPECT_FALSE(glob_matches("job.\\", "job.\\"));
    EXPECT_FALSE(glob_matches("[a-", "a"));
}

TEST(Glob, ManyStarsStayCheap) {
    const std::string text(3000, 'a');
    EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*b", text));
}

}  // namespace
}  // namespace lockstep::fakes::policy
