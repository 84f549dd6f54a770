#include "sim/cli/violation_text.h"

#include <gmock/gmock.h>

namespace lockstep::sim::cli {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

reports::Violation violation(std::uint64_t here, std::uint64_t earlier) {
    reports::Violation made;
    made.invariant = "single_ticker";
    made.detail = "it ticked twice";
    made.fact = {.event = here, .at_ns = 2'000'000'000, .node = "scheduler-0", .what = "reached tick"};
    made.earlier = reports::Fact{.event = earlier, .at_ns = 1'000'000'000, .node = "scheduler-1", .what = "timer tick"};
    return made;
}

TEST(ViolationLines, TellBothEventsThatContradictEachOther) {
    const auto lines = violation_lines(violation(9, 4));
    EXPECT_THAT(lines, Contains(HasSubstr("here        #9 2.000000s scheduler-0  reached tick")));
    EXPECT_THAT(lines, Contains(HasSubstr("contradicts #4 1.000000s scheduler-1  timer tick")));
    EXPECT_THAT(lines, Contains(HasSubstr("apart       1.000000s, 5 events")));
}

TEST(ViolationLines, SayWhichParagraphSaysWhatShouldHaveHappened) {
    reports::Violation documented = violation(9, 4);
    documented.paragraph = "engine/store/redis-schema.md 5";
    EXPECT_THAT(violation_lines(documented), Contains("  documented  engine/store/redis-schema.md 5"));
    EXPECT_THAT(violation_lines(violation(9, 4)), Each(Not(HasSubstr("documented"))));
}

TEST(ViolationLines, TellOneEventOnce) {
    const auto lines = violation_lines(violation(9, 9));
    EXPECT_THAT(lines, Contains(HasSubstr("here        #9")));
    EXPECT_THAT(lines, Each(Not(HasSubstr("contradicts"))));
    EXPECT_THAT(lines, Each(Not(HasSubstr("apart"))));
}

TEST(ViolationLines, AtTheEndTellWhatTheLastEventContradicts) {
    reports::Violation at_rest = violation(9, 9);
    at_rest.at_rest = true;
    const auto lines = violation_lines(at_rest);
    EXPECT_THAT(lines, Contains(HasSubstr("nothing happens any more")));
    EXPECT_THAT(lines, Contains(HasSubstr("contradicts #9 1.000000s scheduler-1  timer tick")));
}

}  // namespace
}  // namespace lockstep::sim::cli
