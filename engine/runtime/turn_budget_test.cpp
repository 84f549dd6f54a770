#include "engine/runtime/turn_budget.h"

#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

TEST(TurnBudget, CountsFromTheFirstItemWhichMayAlwaysBegin) {
    TurnBudget budget(1s);
    EXPECT_TRUE(budget.allows_another(MonoTime{} + 10s));
    EXPECT_TRUE(budget.allows_another(MonoTime{} + 10'999ms));
    EXPECT_FALSE(budget.allows_another(MonoTime{} + 11s));
}

TEST(TurnBudget, WithoutAnyTimeIsOneItem) {
    TurnBudget budget(0s);
    EXPECT_TRUE(budget.allows_another(MonoTime{} + 1s));
    EXPECT_FALSE(budget.allows_another(MonoTime{} + 1s));
}

}  // namespace
}  // namespace lockstep::engine
