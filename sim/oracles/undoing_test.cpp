// What a compensation has of the job that it undoes, and what of its own.
#include "sim/oracles/undoing.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "engine/wire/sha256.h"

namespace lockstep::sim {
namespace {

using ::testing::HasSubstr;

cap::JobRequest booking() {
    cap::JobRequest job;
    job.set_job_id("book");
    job.set_topic("job.book");
    job.set_workflow_id("travel");
    job.set_tenant_id("acme");
    job.mutable_budget()->set_deadline_ms(1000);
    (*job.mutable_labels())["run_id"] = "trip";
    (*job.mutable_labels())["approval_granted"] = "true";
    (*job.mutable_env())["seat"] = "1";
    job.mutable_meta()->set_capability("book");
    job.mutable_compensation()->set_topic(" undo ");
    job.mutable_compensation()->mutable_budget()->set_deadline_ms(9000);
    (*job.mutable_compensation()->mutable_env())["seat"] = "0";
    return job;
}

cap::JobRequest recorded_for(cap::JobRequest job) {
    job.clear_compensation();
    job.clear_job_id();
    job.set_parent_job_id("book");
    job.set_topic("undo");
    job.set_priority(cap::JOB_PRIORITY_CRITICAL);
    job.mutable_budget()->set_deadline_ms(9000);
    job.mutable_labels()->erase("approval_granted");
    (*job.mutable_env())["seat"] = "0";
    job.mutable_meta()->set_idempotency_key("saga:" + engine::wire::sha256_hex("travel|book|undo|book").substr(0, 32));
    return job;
}

cap::JobRequest submitted_for(cap::JobRequest job) {
    job.set_job_id("comp-1");
    job.set_topic("job.undo");
    for (auto* marks : {job.mutable_labels(), job.mutable_env()}) {
        (*marks)["saga_compensation"] = "true";
        (*marks)["is_compensation"] = "true";
        (*marks)["saga_workflow_id"] = "travel";
    }
    return job;
}

TEST(Undoing, HasItsOwnWhereItSaysSoAndElseThatOfItsJob) {
    EXPECT_EQ(misrecorded(recorded_for(booking()), booking()), "");
    EXPECT_EQ(missubmitted(submitted_for(recorded_for(booking())), recorded_for(booking())), "");
}

TEST(Undoing, TellsWhatDiffers) {
    cap::JobRequest recorded = recorded_for(booking());
    *recorded.mutable_budget() = booking().budget();
    EXPECT_THAT(misrecorded(recorded, booking()), HasSubstr("its budget is"));
    recorded = recorded_for(booking());
    recorded.set_tenant_id("initech");
    EXPECT_THAT(misrecorded(recorded, booking()), HasSubstr("its tenant is 'initech', and 'acme' is due"));
    recorded = recorded_for(booking());
    (*recorded.mutable_env())["seat"] = "1";
    EXPECT_THAT(misrecorded(recorded, booking()), HasSubstr("its env seat is '1', and '0' is due"));
}

TEST(Undoing, IsItsJobsTenantsWhateverItsEnvironmentSays) {
    cap::JobRequest job = booking();
    (*job.mutable_compensation()->mutable_env())["tenant_id"] = "initech";
    cap::JobRequest recorded = recorded_for(job);
    (*recorded.mutable_env())["tenant_id"] = "acme";
    EXPECT_EQ(misrecorded(recorded, job), "");
    (*recorded.mutable_env())["tenant_id"] = "initech";
    EXPECT_THAT(misrecorded(recorded, job), HasSubstr("its env tenant_id is 'initech', and 'acme' is due"));
}

TEST(Undoing, IsMarkedWhenItIsSubmitted) {
    cap::JobRequest submitted = submitted_for(recorded_for(booking()));
    submitted.mutable_env()->erase("saga_compensation");
    EXPECT_THAT(missubmitted(submitted, recorded_for(booking())), HasSubstr("it has no env saga_compensation"));
}

TEST(Undoing, IsKnownByALabelOrByItsEnvironment) {
    cap::JobRequest job = booking();
    EXPECT_FALSE(is_marked_as_compensation(job));
    (*job.mutable_labels())["saga_compensation"] = "False";
    EXPECT_FALSE(is_marked_as_compensation(job));
    (*job.mutable_env())["saga_compensation"] = "yes";
    EXPECT_TRUE(is_marked_as_compensation(job));
}

}  // namespace
}  // namespace lockstep::sim
