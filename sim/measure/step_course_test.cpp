#include "sim/measure/step_course.h"

#include <gmock/gmock.h>

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TEST(StepCourse, GivesTheHighestValueOfEachSpan) {
    StepCourse course;
    course.set(Time(1s), 5);
    course.set(Time(2s), 1);
    course.set(Time(7s), 3);
    EXPECT_THAT(course.peaks(Time(10s), 5), ElementsAre(5, 5, 1, 3, 3));
    EXPECT_EQ(course.now(), 3);
}

TEST(StepCourse, FindsWhenItIsLowAgain) {
    StepCourse course;
    course.set(Time(1s), 5);
    course.set(Time(4s), 2);
    course.set(Time(6s), 0);
    const auto first = [&](Time from, double most) {
        Time found{-1s};
        course.first_at_most(from, most, [&](Time at) { found = at; });
        return found;
    };
    EXPECT_EQ(first(Time(2s), 2), Time(4s));
    EXPECT_EQ(first(Time(2s), 0), Time(6s));
    EXPECT_EQ(first(Time(5s), 2), Time(5s)) << "it was low already";
    EXPECT_EQ(first(Time(8s), 0), Time(8s));
    course.set(Time(9s), 4);
    EXPECT_EQ(first(Time(10s), 3), Time(-1s)) << "it never is";
}

}  // namespace
}  // namespace lockstep::sim
