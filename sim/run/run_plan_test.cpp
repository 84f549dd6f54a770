#include "sim/run/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

Load line_of(Duration at, RunOrder::Kind kind, std::string run = {}) {
    Load load;
    load.kind = Load::Kind::workflow;
    load.at = at;
    load.order.kind = kind;
    load.order.run = std::move(run);
    return load;
}

TEST(RunPlan, NumbersRunsThatHaveNoIdThroughAllLinesAndSortsByTime) {
    std::vector<Load> load;
    load.push_back(line_of(5s, RunOrder::Kind::start));
    load.back().count = 2;
    load.back().per_second = 1;
    load.push_back(line_of(1s, RunOrder::Kind::put));
    load.push_back(line_of(5500ms, RunOrder::Kind::start, "own"));
    load.push_back(line_of(7s, RunOrder::Kind::start));
    load.emplace_back();  // a submission, which is another plan's
    const RunPlan plan(load);
    std::vector<std::string> runs;
    for (const RunPlan::Action& action : plan.actions()) runs.push_back(action.order.run);
    EXPECT_THAT(runs, ElementsAre("", "run-0", "own", "run-1", "run-2"));
    EXPECT_EQ(plan.actions()[3].at, 6s);
    EXPECT_THAT(run_ids(load), ElementsAre("run-0", "run-1", "own", "run-2"));
}

TEST(RunPlan, IsOverOnceAllIsDone) {
    RunPlan plan({line_of(1s, RunOrder::Kind::put), line_of(2s, RunOrder::Kind::start)});
    EXPECT_EQ(plan.open(), 2U);
    plan.finish(0);
    plan.finish(0);
    EXPECT_EQ(plan.open(), 1U);
    EXPECT_TRUE(plan.done(0));
    plan.finish(1);
    EXPECT_EQ(plan.open(), 0U);
}

TEST(RunPlan, KnowsWhatWasDecidedInVain) {
    Load approve = line_of(1s, RunOrder::Kind::approve);
    approve.order.run = "r";
    approve.order.step = "sign";
    Load retry = line_of(2s, RunOrder::Kind::retry);
    retry.order.run = "r";
    RunPlan plan({line_of(1s, RunOrder::Kind::put), approve, retry, retry});
    plan.finish(1, false);
    plan.finish(2, false);
    plan.finish(3, true);
    EXPECT_THAT(plan.in_vain(), ElementsAre("the approval of sign of r"));
}

}  // namespace
}  // namespace lockstep::sim
