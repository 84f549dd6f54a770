#include "engine/wire/subjects.h"

#include <gtest/gtest.h>

#include "engine/runtime/invariant.h"

namespace lockstep::engine::wire {
namespace {

// BUS-05
TEST(Subjects, DurableOnesGoThroughJetStream) {
    for (const auto subject : {"sys.job.submit", "sys.job.result", "sys.job.dlq", "sys.audit.export", "job.default",
                               "job.a.b", "worker.w1.jobs", "worker.a.b.jobs"}) {
        EXPECT_TRUE(is_durable(subject)) << subject;
    }
    for (const auto subject :
         {"worker.w1.commands", "sys.ping", "sys.heartbeat", "sys.handshake", "sys.job.cancel", "sys.job.progress",
          "sys.alert", "sys.workflow.event", "sys.config.changed", "sys.audit.output_policy", "jobs.x", "job", ""}) {
        EXPECT_FALSE(is_durable(subject)) << subject;
    }
}

// BUS-05: the test is on the literal text, so a wildcard subscription is a core subscription.
TEST(Subjects, WildcardsOverDurableSubjectsAreNotDurable) {
    EXPECT_FALSE(is_durable("sys.job.>"));
    EXPECT_FALSE(is_durable("sys.>"));
    EXPECT_FALSE(is_durable("worker.*.>"));
}

TEST(Subjects, StreamsCaptureWhatTheyBindDurableOrNot) {
    EXPECT_EQ(stream_of("sys.job.submit"), kStreamSys);
    EXPECT_EQ(stream_of("sys.heartbeat"), kStreamSys);
    EXPECT_EQ(stream_of("job.default"), kStreamJobs);
    EXPECT_EQ(stream_of("worker.w1.jobs"), kStreamJobs);
    EXPECT_EQ(stream_of("worker.a.b.jobs"), std::nullopt) << "the stream binds worker.*.jobs";
    EXPECT_EQ(stream_of("worker.w1.commands"), std::nullopt);
    EXPECT_EQ(stream_of("sys."), std::nullopt);
}

TEST(Subjects, LeadersOfDurablesAreToldOfWhereTheServerTells) {
    EXPECT_EQ(leader_elected_subject(kStreamSys, durable_name(kQueueScheduler, kSubjectSubmit)),
              "$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.CORDUM_SYS.dur_cordum-scheduler__sys_job_submit");
}

TEST(Subjects, WorkerSubjectsReadBackAsTheirWorker) {
    EXPECT_EQ(worker_subject(WorkerId("w1")), "worker.w1.jobs");
    for (const std::string id : {"w1", "a.b", "jobs", "worker"}) {
        const std::string subject = worker_subject(WorkerId(id));
        EXPECT_EQ(worker_of(subject), id);
    }
}

TEST(Subjects, OtherSubjectsNameNoWorker) {
    for (const auto subject :
         {"job.default", "worker.w1.commands", "worker..jobs", "worker.jobs", "worker.", ".jobs", ""}) {
        EXPECT_EQ(worker_of(subject), std::nullopt) << subject;
    }
}

TEST(Subjects, DurableConsumersHaveTheNamesThatTheServersAlreadyKnow) {
    EXPECT_EQ(durable_name("cordum-scheduler", "sys.job.submit"), "dur_cordum-scheduler__sys_job_submit");
    EXPECT_EQ(durable_name("cordum-workflow-engine", "sys.job.result"), "dur_cordum-workflow-engine__sys_job_result");
    EXPECT_EQ(durable_name("audit-exporters", "sys.audit.export"), "dur_audit-exporters__sys_audit_export");
    EXPECT_EQ(durable_name(" q.1 ", "job.*.>"), "dur_q_1__job_STAR_GT");
    EXPECT_EQ(durable_name("  ", "sys.job.dlq"), "dur_sys_job_dlq");
}

// BUS-07: without a queue group there is no shared durable, every subscriber gets a copy.
TEST(Subjects, ADeploymentHasTheDurablesOfItsSchedulersAndWorkflowEngines) {
    EXPECT_EQ(own_durables(), (std::vector<std::string>{"dur_cordum-scheduler__sys_job_submit",
                                                        "dur_cordum-scheduler__sys_job_result",
                                                        "dur_cordum-workflow-engine__sys_job_result"}));
}

TEST(Subjects, BroadcastHasNoDurable) { EXPECT_EQ(durable_name("", "sys.heartbeat"), ""); }

TEST(Subjects, ApprovalGatesAreNamedOldAndNew) {
    EXPECT_TRUE(is_approval_gate("job.cordum.approval-gate"));
    EXPECT_TRUE(is_approval_gate("sys.approval.gate"));
    EXPECT_FALSE(is_approval_gate("job.default"));
}

TEST(Subjects, NobodyHasNone) { EXPECT_THROW(static_cast<void>(worker_subject(WorkerId())), InvariantViolation); }

}  // namespace
}  // namespace lockstep::engine::wire
