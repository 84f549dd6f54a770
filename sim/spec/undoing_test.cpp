// What a compensation has of the job that it undoes, and what of its own.
#include "sim/spec/undoing.h"

#include <gmock/gmock.h>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/sha256.h"

namespace lockstep::sim::spec {
namespace {

using ::testing::HasSubstr;

struct Undoing : ::testing::Test {
    static cap::JobRequest read(std::string_view json) {
        return engine::wire::from_json<cap::JobRequest>(json).value();
    }

    const cap::JobRequest job =
        read(R"({"jobId": "book", "topic": "job.book", "workflowId": "travel", "tenantId": "acme",
        "budget": {"deadlineMs": "1000", "maxInputTokens": "7"}, "labels": {"run_id": "trip", "approval_granted": "true"},
        "env": {"seat": "1"}, "meta": {"capability": "book", "riskTags": ["a", "b"]},
        "compensation": {"topic": " undo ", "budget": {"deadlineMs": "9000"}, "env": {"seat": "0", "tenant_id": "initech"},
                         "meta": {"riskTags": ["c"]}}})");
    cap::JobRequest recorded =
        read(R"({"parentJobId": "book", "topic": "undo", "workflowId": "travel", "tenantId": "acme",
        "priority": "JOB_PRIORITY_CRITICAL", "budget": {"deadlineMs": "9000"}, "labels": {"run_id": "trip"},
        "env": {"seat": "0", "tenant_id": "acme"}, "meta": {"capability": "book", "riskTags": ["c"]}})");
    Undoing() {
        recorded.mutable_meta()->set_idempotency_key("saga:" +
                                                     engine::wire::sha256_hex("travel|book|undo|book").substr(0, 32));
    }
};

TEST_F(Undoing, HasItsOwnWhereItSaysSoAndElseThatOfItsJobWhoseTenantsItIs) {
    EXPECT_EQ(misrecorded(recorded, job), "");
    const auto told = [this](auto change) {
        cap::JobRequest changed = recorded;
        change(changed);
        return misrecorded(changed, job);
    };
    EXPECT_THAT(told([](auto& it) { *it.mutable_budget() = {}; }),
                HasSubstr("it has no budget/deadlineMs, and '9000' is"));
    EXPECT_THAT(told([](auto& it) { it.set_tenant_id("initech"); }),
                HasSubstr("its tenantId is 'initech', and 'acme'"));
    EXPECT_THAT(told([](auto& it) { (*it.mutable_env())["seat"] = "1"; }),
                HasSubstr("its env/seat is '1', and '0' is"));
    EXPECT_THAT(told([](auto& it) { (*it.mutable_env())["tenant_id"] = "initech"; }),
                HasSubstr("env/tenant_id is 'init"));
    EXPECT_THAT(told([](auto& it) { it.set_job_id("book"); }), HasSubstr("its jobId is 'book', and none is due"));
}

TEST_F(Undoing, IsMarkedWhenItIsSubmitted) {
    cap::JobRequest submitted = recorded;
    submitted.set_topic("job.undo");
    for (auto* marks : {submitted.mutable_labels(), submitted.mutable_env()}) {
        (*marks)["saga_compensation"] = (*marks)["is_compensation"] = "true";
        (*marks)["saga_workflow_id"] = "travel";
    }
    submitted.set_job_id("comp-1");
    EXPECT_EQ(missubmitted(submitted, recorded), "");
    (*submitted.mutable_env())["saga_workflow_id"] = "cruise";
    EXPECT_THAT(missubmitted(submitted, recorded), HasSubstr("env/saga_workflow_id is 'cruise', and 'travel' is due"));
    (*recorded.mutable_labels())["workflow_id"] = (*submitted.mutable_labels())["workflow_id"] = "cruise";
    recorded.clear_workflow_id();
    submitted.clear_workflow_id();
    EXPECT_THAT(missubmitted(submitted, recorded),
                HasSubstr("labels/saga_workflow_id is 'travel', and 'cruise' is due"));
    for (cap::JobRequest* one : {&submitted, &recorded}) one->mutable_labels()->erase("workflow_id");
    EXPECT_EQ(missubmitted(submitted, recorded), "") << "where it stood said which";
    submitted.mutable_env()->erase("saga_compensation");
    EXPECT_THAT(missubmitted(submitted, recorded), HasSubstr("it has no env/saga_compensation"));
}

}  // namespace
}  // namespace lockstep::sim::spec
