#include "engine/runs/job_request.h"

#include <gtest/gtest.h>

#include "engine/runs/test_run.h"

namespace lockstep::engine {
namespace {

using nlohmann::json;
using testing::TestRun;

TEST(WorkerJob, CarriesWhatTheProtocolAsksFor) {
    TestRun run(
        {{"a",
          {{"type", "worker"},
           {"worker_id", "w-7"},
           {"timeout_sec", 30},
           {"route_labels", {{"placement.region", "eu"}}},
           {"meta", {{"actor_id", "ann"}, {"capability", "pay"}, {"risk_tags", {"pii"}}, {"requires", {"gpu"}}}},
           {"compensation", {{"topic", "job.refund"}}}}}},
        {{"priority", "critical"}, {"memory_id", "mem:m1"}});
    run.run.set("team_id", "team-1");
    run.run.set("dry_run", true);
    run.advance();
    const cap::JobRequest job = run.request_of("a");
    EXPECT_EQ(job.job_id(), "run-1:a@1");
    EXPECT_EQ(job.topic(), "job.workflow.wf-1") << "the topic of a step that names none";
    EXPECT_EQ(job.priority(), cap::JOB_PRIORITY_CRITICAL);
    EXPECT_EQ(job.workflow_id(), "wf-1");
    EXPECT_EQ(job.memory_id(), "m1");
    EXPECT_EQ(job.tenant_id(), "acme");
    EXPECT_EQ(job.principal_id(), "ann");
    EXPECT_EQ(job.adapter_id(), "w-7");
    EXPECT_EQ(job.context_ptr(), "redis://ctx:run-1:a@1");
    EXPECT_EQ(job.budget().deadline_ms(), 30'000);
    EXPECT_EQ(job.compensation().topic(), "job.refund");
    for (const auto& [name, value] : std::map<std::string, std::string>{{"workflow_id", "wf-1"},
                                                                        {"run_id", "run-1"},
                                                                        {"step_id", "a"},
                                                                        {"tenant_id", "acme"},
                                                                        {"team_id", "team-1"},
                                                                        {"memory_id", "m1"},
                                                                        {"context_mode", "raw"},
                                                                        {"dry_run", "true"}})
        EXPECT_EQ(job.env().at(name), value) << name;
    for (const auto& [name, value] : std::map<std::string, std::string>{{"workflow_id", "wf-1"},
                                                                        {"run_id", "run-1"},
                                                                        {"step_id", "a"},
                                                                        {"worker_id", "w-7"},
                                                                        {"placement.region", "eu"},
                                                                        {"dry_run", "true"}})
        EXPECT_EQ(job.labels().at(name), value) << name;
    EXPECT_EQ(job.meta().idempotency_key(), "wf:run-1:a:1");
    EXPECT_EQ(job.meta().capability(), "pay");
    EXPECT_EQ(job.meta().risk_tags(0), "pii");
    EXPECT_EQ(job.meta().requires_(0), "gpu");
    const auto packet = wire::decode(run.effects.submissions[0].packet);
    EXPECT_EQ(packet->sender_id(), "workflow-engine");
    EXPECT_EQ(packet->trace_id(), "run-1");
    EXPECT_EQ(run.payload_of("a"), run.run.member("input")) << "a step without an input has the run's";
}

TEST(WorkerJob, DefaultsAndKeysOfItsOwn) {
    TestRun run({{"a", {{"type", "worker"}, {"topic", "job.x"}, {"meta", {{"idempotency_key", "mine"}}}}}});
    run.advance();
    const cap::JobRequest job = run.request_of("a");
    EXPECT_EQ(job.topic(), "job.x");
    EXPECT_EQ(job.priority(), cap::JOB_PRIORITY_BATCH);
    EXPECT_EQ(job.memory_id(), "run:run-1");
    EXPECT_EQ(job.meta().idempotency_key(), "mine");
    EXPECT_FALSE(job.has_budget());
    EXPECT_FALSE(job.has_compensation());
}

}  // namespace
}  // namespace lockstep::engine
