#include "engine/saga/compensation.h"

#include <gtest/gtest.h>

#include "engine/runtime/invariant.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/sha256.h"

namespace lockstep::engine {
namespace {

/// A step of workflow wf-1 that says how to undo it.
cap::JobRequest step() {
    cap::JobRequest request;
    request.set_job_id("book-hotel");
    request.set_topic("job.book");
    request.set_workflow_id("wf-1");
    request.set_step_index(3);
    request.set_priority(cap::JOB_PRIORITY_BATCH);
    request.set_context_ptr("redis://ctx:book-hotel");
    request.set_tenant_id("acme");
    (*request.mutable_env())["region"] = "eu";
    (*request.mutable_env())["mode"] = "book";
    (*request.mutable_labels())["team"] = "travel";
    request.mutable_meta()->set_capability("hotel");
    request.mutable_meta()->add_risk_tags("money");
    request.mutable_compensation()->set_topic(" job.cancel ");
    (*request.mutable_compensation()->mutable_env())["mode"] = "cancel";
    (*request.mutable_compensation()->mutable_labels())["reason"] = "rollback";
    return request;
}

SagaName workflow(const char* id) { return {SagaName::Kind::workflow, "acme", id}; }
SagaName run(const char* id, const char* tenant = "acme") { return {SagaName::Kind::run, tenant, id}; }

std::string entry_of(const cap::JobRequest& request) { return wire::serialise(compensation_template(request).value()); }

// SAGA-01
TEST(CompensationTemplate, HasTheUndoTopicCriticalPriorityAndBothEnvironments) {
    const auto undo = compensation_template(step());
    ASSERT_TRUE(undo);
    EXPECT_EQ(undo->topic(), "job.cancel");
    EXPECT_EQ(undo->priority(), cap::JOB_PRIORITY_CRITICAL);
    EXPECT_EQ(undo->env().at("region"), "eu");
    EXPECT_EQ(undo->env().at("mode"), "cancel");
    EXPECT_EQ(undo->labels().at("team"), "travel");
    EXPECT_EQ(undo->labels().at("reason"), "rollback");
    EXPECT_EQ(undo->job_id(), "");
    EXPECT_EQ(undo->parent_job_id(), "book-hotel");
    EXPECT_EQ(undo->workflow_id(), "wf-1");
    EXPECT_FALSE(undo->has_compensation());
    EXPECT_EQ(undo->meta().capability(), "hotel");
    EXPECT_EQ(undo->context_ptr(), "redis://ctx:book-hotel");
}

TEST(CompensationTemplate, WhatTheUndoSaysWinsAndAbsenceKeeps) {
    auto request = step();
    request.mutable_budget()->set_deadline_ms(1000);
    request.set_memory_id("m");
    auto& undo = *request.mutable_compensation();
    undo.set_context_ptr("redis://ctx:other");
    undo.mutable_budget()->set_max_input_tokens(5);
    undo.mutable_meta()->add_requires_("gpu");
    undo.mutable_meta()->set_capability("hotel-cancel");
    const auto made = compensation_template(request);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->context_ptr(), "redis://ctx:other");
    EXPECT_EQ(made->memory_id(), "m");
    EXPECT_EQ(made->budget().max_input_tokens(), 5);
    EXPECT_EQ(made->budget().deadline_ms(), 0) << "a budget is replaced as a whole";
    EXPECT_EQ(made->meta().capability(), "hotel-cancel");
    EXPECT_EQ(made->meta().risk_tags(0), "money") << "an empty list replaces nothing";
    EXPECT_EQ(made->meta().requires_(0), "gpu");
}

// SAGA-02
TEST(CompensationTemplate, KeepsItsOwnIdempotencyKeyAndNeverTheStepsOne) {
    auto request = step();
    request.mutable_meta()->set_idempotency_key("of-the-step");
    const std::string made = compensation_template(request)->meta().idempotency_key();
    EXPECT_EQ(made, "saga:" + wire::sha256_hex("wf-1|book-hotel|job.cancel|hotel|3").substr(0, 32));
    request.mutable_compensation()->mutable_meta()->set_idempotency_key("of-the-undo");
    EXPECT_EQ(compensation_template(request)->meta().idempotency_key(), "of-the-undo");
}

TEST(CompensationTemplate, BlankValuesAtTheEndOfTheKeyLeaveNoBars) {
    auto request = step();
    request.set_step_index(0);
    request.clear_meta();
    EXPECT_EQ(compensation_template(request)->meta().idempotency_key(),
              "saga:" + wire::sha256_hex("wf-1|book-hotel|job.cancel").substr(0, 32));
}

TEST(CompensationTemplate, WithoutATopicThereIsNone) {
    auto request = step();
    request.mutable_compensation()->set_topic("  ");
    EXPECT_FALSE(compensation_template(request));
}

// H-40b
TEST(CompensationTemplate, LabelsOfTheBusAndOfAnApprovalStayBehind) {
    auto request = step();
    for (const char* label : {"cordum.bus_msg_id", "approval_granted", "Approval_Note"})
        (*request.mutable_labels())[label] = "approval:book-hotel";
    const auto undo = compensation_template(request);
    ASSERT_TRUE(undo);
    EXPECT_EQ(undo->labels_size(), 2) << undo->DebugString();
    EXPECT_TRUE(undo->labels().contains("team"));
}

// H-40b: also what another implementation has recorded.
TEST(CompensationJob, NamesItsMessageByItselfWhateverWasRecorded) {
    auto recorded = *compensation_template(step());
    (*recorded.mutable_labels())["cordum.bus_msg_id"] = "approval:book-hotel";
    const auto job = compensation_job(workflow("wf-1"), wire::serialise(recorded));
    ASSERT_TRUE(job);
    EXPECT_FALSE(job->labels().contains("cordum.bus_msg_id"));
}

// SAGA-03, SAGA-04
TEST(CompensationJob, IsFlaggedInLabelsAndEnvironment) {
    const auto job = compensation_job(workflow("wf-1"), entry_of(step()));
    ASSERT_TRUE(job);
    for (const auto* map : {&job->labels(), &job->env()}) {
        EXPECT_EQ(map->at("saga_compensation"), "true");
        EXPECT_EQ(map->at("is_compensation"), "true");
        EXPECT_EQ(map->at("saga_workflow_id"), "wf-1");
    }
    EXPECT_EQ(job->priority(), cap::JOB_PRIORITY_CRITICAL);
    EXPECT_TRUE(is_compensation(*job));
}

// H-12: what is made of one entry is one job; of two entries, two.
TEST(CompensationJob, HasAnIdThatIsAFunctionOfSagaAndEntry) {
    const std::string entry = entry_of(step());
    const std::string id = compensation_job(run("run-1"), entry)->job_id();
    EXPECT_EQ(id, compensation_job(run("run-1"), entry)->job_id());
    EXPECT_NE(id, compensation_job(run("run-2"), entry)->job_id());
    EXPECT_NE(id, compensation_job(run("run-1", "initech"), entry)->job_id());
    auto other = step();
    other.set_job_id("book-flight");
    EXPECT_NE(id, compensation_job(run("run-1"), entry_of(other))->job_id());
    ASSERT_EQ(id.size(), 5u + 36u);
    EXPECT_TRUE(id.starts_with("comp-"));
    EXPECT_EQ(id[5 + 14], '8') << "the version of a UUID made to one's own rule";
}

TEST(CompensationJob, OfARunStillTellsItsWorkflow) {
    auto request = step();
    (*request.mutable_labels())["run_id"] = "run-7";
    const auto job = compensation_job(run("run-7"), entry_of(request));
    EXPECT_EQ(job->labels().at("saga_workflow_id"), "wf-1");
    EXPECT_EQ(job->labels().at("run_id"), "run-7");
}

TEST(CompensationJob, GetsATopicThatTheSchedulerRoutes) {
    auto request = step();
    request.mutable_compensation()->set_topic("cancel");
    EXPECT_EQ(compensation_job(workflow("wf-1"), entry_of(request))->topic(), "job.cancel");
}

TEST(CompensationJob, IsNotMadeOfWhatCannotBeReadOrNamesNoTopic) {
    EXPECT_FALSE(compensation_job(workflow("wf-1"), "\xff\xff no message"));
    EXPECT_FALSE(compensation_job(workflow("wf-1"), ""));
    cap::JobRequest nameless;
    nameless.set_parent_job_id("j1");
    EXPECT_FALSE(compensation_job(workflow("wf-1"), wire::serialise(nameless)));
}

// C-60
TEST(SagaOf, IsTheRunWhereThereIsOneAndTheWorkflowOtherwise) {
    auto request = step();
    EXPECT_EQ(saga_of(request), workflow("wf-1"));
    (*request.mutable_labels())["run_id"] = "run-7";
    EXPECT_EQ(saga_of(request), run("run-7"));
    request.clear_workflow_id();
    EXPECT_FALSE(saga_of(request)) << "no workflow, no saga";
    (*request.mutable_labels())["workflow_id"] = "wf-1";
    EXPECT_EQ(saga_of(request), run("run-7"));
}

// D-07
TEST(CompensationTemplate, RunsAsTheTenantOfTheJobThatItUndoes) {
    auto request = step();
    (*request.mutable_env())["tenant_id"] = " acme";
    request.mutable_meta()->set_tenant_id("acme ");
    auto& undo = *request.mutable_compensation();
    undo.set_tenant_id("victim");
    (*undo.mutable_env())["tenant_id"] = "victim";
    undo.mutable_meta()->set_tenant_id("victim");
    const auto made = compensation_template(request);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->tenant_id(), "acme");
    EXPECT_EQ(made->env().at("tenant_id"), "acme");
    EXPECT_EQ(made->meta().tenant_id(), "acme");
}

TEST(CompensationTemplate, NamesTheTenantAlsoWhereTheStepNamedItOnlyInItsEnvironmentOrNotAtAll) {
    auto request = step();
    request.clear_tenant_id();
    EXPECT_EQ(compensation_template(request)->tenant_id(), "default");
    (*request.mutable_env())["tenant_id"] = "acme";
    EXPECT_EQ(compensation_template(request)->tenant_id(), "acme");
    EXPECT_FALSE(compensation_template(step())->env().contains("tenant_id")) << "not where nobody has named one";
}

// D-08
TEST(CompensationTemplate, WhatOnlyPolicyWritesStaysBehind) {
    auto request = step();
    (*request.mutable_labels())["safety_bypassed"] = "true";
    (*request.mutable_env())["CORDUM_EFFECTIVE_CONFIG"] = "{}";
    (*request.mutable_compensation()->mutable_env())["CORDUM_MAX_RETRIES"] = "99";
    const auto made = compensation_template(request);
    ASSERT_TRUE(made);
    EXPECT_FALSE(made->labels().contains("safety_bypassed"));
    EXPECT_FALSE(made->env().contains("CORDUM_EFFECTIVE_CONFIG"));
    EXPECT_FALSE(made->env().contains("CORDUM_MAX_RETRIES"));
    auto recorded = *made;
    (*recorded.mutable_env())["CORDUM_MAX_RETRIES"] = "99";
    EXPECT_FALSE(compensation_job(workflow("wf-1"), wire::serialise(recorded))->env().contains("CORDUM_MAX_RETRIES"));
}

TEST(IsCompensation, GoesByAFlagInLabelsOrEnvironment) {
    auto request = step();
    EXPECT_FALSE(is_compensation(request));
    (*request.mutable_env())["saga_compensation"] = "1";
    EXPECT_TRUE(is_compensation(request));
    (*request.mutable_env())["saga_compensation"] = "false";
    EXPECT_FALSE(is_compensation(request));
    (*request.mutable_labels())["saga_compensation"] = "true";
    EXPECT_TRUE(is_compensation(request));
}

TEST(CompensationTemplate, AJobWithoutOneIsNotAskedForIt) {
    cap::JobRequest request = step();
    request.clear_compensation();
    EXPECT_THROW(static_cast<void>(compensation_template(request)), InvariantViolation);
}

}  // namespace
}  // namespace lockstep::engine
