#include "sim/measure/catalogue.h"

#include <gmock/gmock.h>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {
namespace {

TEST(MeasureCatalogue, KnowsNumbersStatisticsAndNumbersForEach) {
    EXPECT_EQ(find_measure("naks")->name, "naks");
    EXPECT_EQ(find_measure("submit_to_terminal.p99")->unit, "ms");
    EXPECT_EQ(find_measure("in_state.RUNNING.mean")->name, "in_state");
    EXPECT_EQ(find_measure("waiting.no_workers")->kind, MeasureInfo::Kind::each);
    EXPECT_EQ(find_measure("dead_letters")->kind, MeasureInfo::Kind::number);
    EXPECT_EQ(find_measure("dead_letters.timeout")->kind, MeasureInfo::Kind::each);
}

TEST(MeasureCatalogue, RefusesWhatIsNoMeasure) {
    EXPECT_EQ(find_measure("submit_to_terminal"), nullptr);
    EXPECT_EQ(find_measure("submit_to_terminal.p98"), nullptr);
    EXPECT_EQ(find_measure("naks.mean"), nullptr);
    EXPECT_EQ(find_measure("of_tenant.p99"), nullptr) << "of which tenant?";
    EXPECT_EQ(find_measure("submit_to_terminal.acme.p99"), nullptr);
    EXPECT_EQ(find_measure("waiting."), nullptr);
    EXPECT_EQ(find_measure(""), nullptr);
}

TEST(MeasureCatalogue, SaysWhatIsNoMeasureAndWhatIsNear) {
    EXPECT_EQ(complaint_about_measure("waiting.tenant_limit"), "");
    EXPECT_EQ(complaint_about_measure("of_tenant.anybody.p99"), "");
    EXPECT_THAT(complaint_about_measure("nakz"), ::testing::HasSubstr("did you mean \"naks\"?"));
    EXPECT_THAT(complaint_about_measure("in_state.RUNING.p99"), ::testing::HasSubstr("did you mean \"RUNNING\"?"));
    EXPECT_THAT(complaint_about_measure("waiting.no_worker"), ::testing::HasSubstr("did you mean \"no_workers\"?"));
}

TEST(MeasureCatalogue, CountsAreZeroWhereNothingWasCounted) {
    const MeasuredRun run{.values = {{"naks", 3}}, .samples = {}, .backlog = {}, .retries = {}, .faults = {}};
    EXPECT_EQ(value_in(run, "naks"), 3);
    EXPECT_EQ(value_in(run, "redeliveries"), 0);
    EXPECT_EQ(value_in(run, "dead_letters.timeout"), 0);
    EXPECT_EQ(value_in(run, "submit_to_terminal.p99"), std::nullopt);
}

TEST(MeasureCatalogue, SortsByTheTableAndThenByName) {
    std::vector<std::string> names{"naks", "waiting.b", "waiting.a", "submit_to_terminal.p99",
                                   "submit_to_terminal.mean"};
    sort_measures(names);
    EXPECT_THAT(names, ::testing::ElementsAre("submit_to_terminal.mean", "submit_to_terminal.p99", "waiting.a",
                                              "waiting.b", "naks"));
}

}  // namespace
}  // namespace lockstep::sim
