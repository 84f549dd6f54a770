#include "sim/compare/grid.h"

#include <gmock/gmock.h>

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Grid, MakesEveryCombinationTheLastSettingFastest) {
    const auto variants = combinations({{"backoff_base", {"1s", "2s"}}, {"max_dispatch_retries", {"3", "5"}}});
    ASSERT_EQ(variants.size(), 4U);
    EXPECT_EQ(variants[0].name, "backoff_base=1s, max_dispatch_retries=3");
    EXPECT_EQ(variants[1].name, "backoff_base=1s, max_dispatch_retries=5");
    EXPECT_THAT(variants[2].settings, ElementsAre(Pair("backoff_base", "2s"), Pair("max_dispatch_retries", "3")));
    EXPECT_THAT(variants[3].overrides(),
                ElementsAre("cluster.config.backoff_base=2s", "cluster.config.max_dispatch_retries=5"));
}

TEST(Grid, LeavesAPathAsItIs) {
    const VariantPlan variant{"", {{"cluster.schedulers", "3"}, {"/cluster/schedulers", "4"}}};
    EXPECT_THAT(variant.overrides(), ElementsAre("cluster.schedulers=3", "/cluster/schedulers=4"));
}

TEST(Grid, FillsASpanWithEvenStepsOrRatios) {
    EXPECT_EQ(values_between("1s", "3s", 3, false), (std::vector<std::string>{"1s", "2s", "3s"}));
    EXPECT_EQ(values_between("100ms", "10s", 3, true), (std::vector<std::string>{"100ms", "1s", "10s"}));
    EXPECT_EQ(values_between("1", "9", 3, false), (std::vector<std::string>{"1", "5", "9"}));
}

TEST(Grid, RefusesEndsThatDoNotFit) {
    EXPECT_FALSE(values_between("1s", "3", 3, false));
    EXPECT_FALSE(values_between("soon", "later", 3, false));
    EXPECT_FALSE(values_between("0", "9", 3, true));
}

}  // namespace
}  // namespace lockstep::sim
