// Every rule of the catalogue is awake: it objects to the break that was planted for it, and to nothing else.
#include "sim/rules/planted_breaks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <string>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

std::size_t breaks() { return planted_breaks().size(); }

class EveryBreak : public ::testing::TestWithParam<std::size_t> {
protected:
    [[nodiscard]] static const PlantedBreak& planted() { return planted_breaks()[GetParam()]; }
};

TEST_P(EveryBreak, IsNoticedByItsRule) {
    EXPECT_THAT(noticed(planted(), true), Contains(std::string(planted().invariant))) << planted().what;
}

TEST_P(EveryBreak, IsAllThatAnybodyHasAgainstItsStory) {
    EXPECT_THAT(noticed(planted(), false), IsEmpty()) << planted().what;
}

INSTANTIATE_TEST_SUITE_P(OfTheTable, EveryBreak, ::testing::Range(std::size_t{0}, breaks()), [](const auto& info) {
    return fmt::format("{}_{}", planted_breaks()[info.param].invariant, info.param);
});

TEST(PlantedBreaks, ThereIsOneForEachRuleOfTheCatalogueAndNoOther) {
    const auto names = names_of(invariant_table(), true);
    for (const std::string& name : names) EXPECT_NE(planted_and_noticed(name), "") << name;
    for (const PlantedBreak& planted : planted_breaks()) EXPECT_THAT(names, Contains(std::string(planted.invariant)));
    EXPECT_EQ(planted_and_noticed("no_such_invariant"), "");
}

}  // namespace
}  // namespace lockstep::sim
