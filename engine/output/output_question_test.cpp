#include "engine/output/output_question.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/wire/messages.h"
#include "engine/wire/sha256.h"

namespace lockstep::engine {
namespace {

cap::JobResult a_result() {
    cap::JobResult result;
    result.set_job_id("j1");
    result.set_result_ptr("redis://res:j1");
    result.set_worker_id(" w1 ");
    result.set_execution_ms(42);
    result.add_artifact_ptrs("redis://art:1");
    return result;
}

cap::JobRequest a_request() {
    cap::JobRequest request;
    request.set_job_id("j1");
    request.set_topic(" job.default ");
    request.set_tenant_id("acme");
    request.set_principal_id("ann");
    request.set_workflow_id("wf");
    (*request.mutable_labels())["step_id"] = "s1";
    (*request.mutable_labels())["content_type"] = "text/plain";
    auto& meta = *request.mutable_meta();
    meta.set_capability("code.write");
    meta.add_requires_("git");
    meta.add_requires_("shell");
    meta.add_risk_tags("high");
    meta.set_pack_id("pack-7");
    return request;
}

// OUT-13
TEST(OutputQuestion, CarriesWhoAndWhatTheJobWas) {
    const auto question = question_about_output(a_result(), a_request());
    EXPECT_EQ(question.job_id(), "j1");
    EXPECT_EQ(question.topic(), "job.default");
    EXPECT_EQ(question.tenant(), "acme");
    EXPECT_EQ(question.principal_id(), "ann");
    EXPECT_EQ(question.pack_id(), "pack-7");
    EXPECT_EQ(question.workflow_id(), "wf");
    EXPECT_EQ(question.step_id(), "s1");
    EXPECT_EQ(question.content_type(), "text/plain");
    EXPECT_EQ(question.worker_id(), "w1");
    EXPECT_EQ(question.execution_ms(), 42);
    EXPECT_EQ(std::vector<std::string>(question.capabilities().begin(), question.capabilities().end()),
              (std::vector<std::string>{"code.write", "git", "shell"}));
    ASSERT_EQ(question.risk_tags_size(), 1);
    EXPECT_EQ(question.risk_tags(0), "high");
    ASSERT_EQ(question.artifact_ptrs_size(), 1);
    EXPECT_EQ(question.original_labels().at("step_id"), "s1");
}

TEST(OutputQuestion, TheEnvironmentStandsInForMissingLabels) {
    auto request = a_request();
    request.clear_labels();
    (*request.mutable_env())["step_id"] = "from-env";
    (*request.mutable_env())["content_type"] = "text/html";
    (*request.mutable_meta()->mutable_labels())["team"] = "red";
    const auto question = question_about_output(a_result(), request);
    EXPECT_EQ(question.step_id(), "from-env");
    EXPECT_EQ(question.content_type(), "text/html");
    EXPECT_EQ(question.labels_size(), 0);
    EXPECT_EQ(question.original_labels().at("team"), "red");
}

// OUT-12
TEST(OutputQuestion, OnlyTheThoroughOneCarriesPointerAndContent) {
    auto question = question_about_output(a_result(), a_request());
    EXPECT_EQ(question.result_ptr(), "");
    EXPECT_EQ(question.output_content(), "");
    EXPECT_EQ(question.content_hash(), "");
    EXPECT_EQ(question.output_size_bytes(), 0);
    attach_content(question, " redis://res:j1 ", {"hello", 5});
    EXPECT_EQ(question.result_ptr(), "redis://res:j1");
    EXPECT_EQ(question.output_content(), "hello");
    EXPECT_EQ(question.output_size_bytes(), 5);
    EXPECT_EQ(question.content_hash(), "sha256:" + wire::sha256_hex("hello"));
}

// H-55: rules about size must see the real one.
TEST(OutputQuestion, TellsTheSizeOfTheWholeOutputAndTheHashOfWhatItCarries) {
    auto question = question_about_output(a_result(), a_request());
    attach_content(question, "redis://res:j1", {"begin", 3'000'000});
    EXPECT_EQ(question.output_size_bytes(), 3'000'000);
    EXPECT_EQ(question.content_hash(), "sha256:" + wire::sha256_hex("begin"));
}

TEST(OutputQuestion, AnOutputThatIsNotThereAddsThePointerOnly) {
    auto question = question_about_output(a_result(), a_request());
    attach_content(question, "redis://res:j1", {});
    EXPECT_EQ(question.result_ptr(), "redis://res:j1");
    EXPECT_EQ(question.content_hash(), "");
}

}  // namespace
}  // namespace lockstep::engine
