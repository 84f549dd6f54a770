// Every oracle of the catalogue is awake: it objects to the break that was planted for it, and to nothing else.
#include "sim/oracles/planted_breaks.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

class EveryOracle : public ::testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] const PlantedBreak* planted() const {
        const auto found = std::ranges::find(planted_breaks(), GetParam(), &PlantedBreak::invariant);
        return found == planted_breaks().end() ? nullptr : &*found;
    }
};

TEST_P(EveryOracle, IsViolatedByAPlantedBreak) {
    ASSERT_NE(planted(), nullptr) << "no break is planted for it in planted_breaks.cpp";
    EXPECT_THAT(noticed(*planted(), true), Contains(GetParam()));
    EXPECT_EQ(planted_and_noticed(GetParam()), planted()->what);
}

TEST_P(EveryOracle, HasNothingAgainstTheSameStoryWithoutTheBreak) {
    ASSERT_NE(planted(), nullptr) << "no break is planted for it in planted_breaks.cpp";
    EXPECT_THAT(noticed(*planted(), false), IsEmpty()) << "nor may any other oracle";
}

INSTANTIATE_TEST_SUITE_P(OfTheCatalogue, EveryOracle, ::testing::ValuesIn(names_of(invariant_table(), true)),
                         [](const auto& info) { return info.param; });

TEST(PlantedBreaks, AreOfOraclesThatThereAre) {
    const auto names = names_of(invariant_table(), true);
    for (const PlantedBreak& planted : planted_breaks()) EXPECT_THAT(names, Contains(std::string(planted.invariant)));
    EXPECT_EQ(planted_and_noticed("no_such_invariant"), "");
}

}  // namespace
}  // namespace lockstep::sim
