#include "fakes/worker/outcome.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"

namespace lockstep::fakes {
namespace {

TEST(WorkOutcome, KnowsStatusesAndMisbehaviour) {
    EXPECT_EQ(WorkOutcome::named("FAILED_FATAL")->status, cap::JOB_STATUS_FAILED_FATAL);
    EXPECT_EQ(WorkOutcome::named("SUCCEEDED")->kind, WorkOutcome::Kind::status);
    EXPECT_EQ(WorkOutcome::named("late")->kind, WorkOutcome::Kind::late);
    EXPECT_EQ(WorkOutcome::named("contradict")->kind, WorkOutcome::Kind::contradict);
    EXPECT_EQ(WorkOutcome::named("duplicate")->status, cap::JOB_STATUS_SUCCEEDED);
    EXPECT_FALSE(WorkOutcome::named("explode").has_value());
}

TEST(OutcomeTable, DrawsByWeight) {
    const OutcomeTable table({{"SUCCEEDED", 3}, {"FAILED", 1}, {"hang", 0}, {"crash", -1}});
    Rng rng(1, "workers");
    int failed = 0;
    for (int i = 0; i < 4000; ++i) {
        const WorkOutcome outcome = table.draw(rng);
        EXPECT_EQ(outcome.kind, WorkOutcome::Kind::status);
        failed += outcome.status == cap::JOB_STATUS_FAILED ? 1 : 0;
    }
    EXPECT_NEAR(failed, 1000, 100);
}

TEST(OutcomeTable, WithoutWeightsEverythingSucceeds) {
    Rng rng(1, "workers");
    EXPECT_EQ(OutcomeTable({}).draw(rng).status, cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(OutcomeTable({{"FAILED", 0}}).draw(rng).status, cap::JOB_STATUS_SUCCEEDED);
}

}  // namespace
}  // namespace lockstep::fakes
