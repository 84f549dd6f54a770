#include "engine/saga/effect.h"

#include <gtest/gtest.h>

#include "engine/saga/compensation.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

cap::JobRequest running_step() {
    cap::JobRequest request;
    request.set_job_id("j1");
    request.set_topic("job.default");
    request.set_workflow_id("wf-1");
    request.mutable_compensation()->set_topic("job.undo");
    return request;
}

std::string stored(const cap::JobRequest& request) { return wire::to_json(request, wire::Unpopulated::emit); }

TEST(PlanSaga, ASuccessRecordsWhatUndoesIt) {
    const SagaPlan plan = plan_saga(cap::JOB_STATUS_SUCCEEDED, stored(running_step()));
    ASSERT_TRUE(plan.readable && plan.effect);
    EXPECT_EQ(plan.effect->saga, (SagaName{SagaName::Kind::workflow, "default", "wf-1"}));
    EXPECT_FALSE(plan.effect->rollback);
    EXPECT_EQ(compensation_job(plan.effect->saga, plan.effect->compensation)->topic(), "job.undo");
}

TEST(PlanSaga, AFatalFailureOwesARollbackAndRecordsNothing) {
    const SagaPlan plan = plan_saga(cap::JOB_STATUS_FAILED_FATAL, stored(running_step()));
    ASSERT_TRUE(plan.effect);
    EXPECT_TRUE(plan.effect->rollback);
    EXPECT_TRUE(plan.effect->compensation.empty());
}

TEST(PlanSaga, OtherEndsMeanNothingAndNeedNoRequest) {
    for (const auto status : {cap::JOB_STATUS_FAILED, cap::JOB_STATUS_FAILED_RETRYABLE, cap::JOB_STATUS_TIMEOUT,
                              cap::JOB_STATUS_CANCELLED, cap::JOB_STATUS_DENIED}) {
        const SagaPlan plan = plan_saga(status, std::string("{ unreadable"));
        EXPECT_TRUE(plan.readable && !plan.effect) << cap::JobStatus_Name(status);
    }
}

TEST(PlanSaga, AStepWithoutUndoOrWorkflowLeavesNoTrace) {
    auto request = running_step();
    request.clear_compensation();
    EXPECT_FALSE(plan_saga(cap::JOB_STATUS_SUCCEEDED, stored(request)).effect);
    request = running_step();
    request.clear_workflow_id();
    EXPECT_FALSE(plan_saga(cap::JOB_STATUS_SUCCEEDED, stored(request)).effect);
    EXPECT_FALSE(plan_saga(cap::JOB_STATUS_FAILED_FATAL, stored(request)).effect);
}

// C-60
TEST(PlanSaga, ACompensationIsNeitherRecordedNorStartsARollback) {
    auto request = running_step();
    (*request.mutable_labels())["saga_compensation"] = "true";
    EXPECT_FALSE(plan_saga(cap::JOB_STATUS_SUCCEEDED, stored(request)).effect);
    EXPECT_FALSE(plan_saga(cap::JOB_STATUS_FAILED_FATAL, stored(request)).effect);
}

// H-38, C-46
TEST(PlanSaga, ARequestThatCannotBeReadIsNoReasonToGuess) {
    for (const auto status : {cap::JOB_STATUS_SUCCEEDED, cap::JOB_STATUS_FAILED_FATAL})
        EXPECT_FALSE(plan_saga(status, std::string("{\"jobId\":")).readable);
}

TEST(PlanSaga, ARequestThatIsNotThereWillNotComeBack) {
    const SagaPlan plan = plan_saga(cap::JOB_STATUS_SUCCEEDED, std::string{});
    EXPECT_TRUE(plan.readable && !plan.effect);
    EXPECT_FALSE(plan.problem.empty());
}

TEST(PlanSaga, AnUndoWithoutTopicIsReportedAndNotRecorded) {
    auto request = running_step();
    request.mutable_compensation()->clear_topic();
    const SagaPlan plan = plan_saga(cap::JOB_STATUS_SUCCEEDED, stored(request));
    EXPECT_TRUE(plan.readable && !plan.effect);
    EXPECT_FALSE(plan.problem.empty());
}

}  // namespace
}  // namespace lockstep::engine
