// The limits that policy sets with an allow: jobs of a tenant on their way at once, and dispatches of one job.
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class ConstraintLimits : public SchedulerTest {
protected:
    void SetUp() override { start(); }

    void policy_limits(int concurrent, int retries = 0) {
        kernel.answer = [=](const auto&) {
            auto answer = ScriptedKernel::says(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
            auto& budgets = *answer.mutable_constraints()->mutable_budgets();
            budgets.set_max_concurrent_jobs(concurrent);
            budgets.set_max_retries(retries);
            return answer;
        };
    }
    Fate submit_for(const std::string& job, const std::string& tenant) {
        auto request = request_for(job);
        request.set_tenant_id(tenant);
        return submit(request);
    }
};

// H-34: a job does not count against itself, and waiting ones count against nobody.
TEST_F(ConstraintLimits, AsManyJobsOfATenantAsItsLimitAreOnTheirWay) {
    policy_limits(2);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_TRUE(submit("j2")->acked());
    EXPECT_TRUE(submit("j3")->handed_back(2s));
    EXPECT_TRUE(submit("j4")->handed_back(2s));
    EXPECT_EQ(state("j3"), "PENDING");
    EXPECT_EQ(field("j3", "attempts"), "0");
    EXPECT_TRUE(submit_for("k1", "other")->acked());
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(2s);
    EXPECT_TRUE(submit("j3")->acked());
    EXPECT_TRUE(submit("j4")->handed_back(2s));
    EXPECT_EQ(dispatches().size(), 4u);
}

TEST_F(ConstraintLimits, ALimitOfOneLetsOneRunAfterTheOther) {
    policy_limits(1);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_TRUE(submit("j2")->handed_back(2s));
    result("j1", cap::JOB_STATUS_FAILED);
    loop.run_for(2s);
    EXPECT_TRUE(submit("j2")->acked());
}

// H-34b
TEST_F(ConstraintLimits, JobsWithoutATenantShareTheDefaultOne) {
    policy_limits(1);
    EXPECT_TRUE(submit_for("j1", "")->acked());
    EXPECT_TRUE(submit_for("j2", "")->handed_back(2s));
    EXPECT_TRUE(submit_for("j3", "default")->handed_back(2s));
}

// A gateway's cancellation knows nothing of the slots.
TEST_F(ConstraintLimits, ASlotThatSomebodyElseFreedIsFound) {
    policy_limits(1);
    EXPECT_TRUE(submit("j1")->acked());
    run({"HSET", "job:meta:j1", "state", "CANCELLED"});
    EXPECT_TRUE(submit("j2")->acked());
    EXPECT_EQ(text({"SISMEMBER", "lockstep:tenant:active_dispatches:acme", "j1"}), "");
    EXPECT_EQ(*run({"SCARD", "lockstep:tenant:active_dispatches:acme"}).integer(), 1);
}

TEST_F(ConstraintLimits, AtTheLimitNoWorkerIsNoFailedTry) {
    policy_limits(1);
    EXPECT_TRUE(submit("j1")->acked());
    auto request = request_for("j2");
    request.set_topic("job.unmapped");
    EXPECT_TRUE(submit(request)->handed_back(2s));
    EXPECT_EQ(field("j2", "attempts"), "0");
}

// C-41, H-45: only dispatches count, not tries that found no worker.
TEST_F(ConstraintLimits, AJobIsDispatchedNoMoreOftenThanPolicyAllows) {
    policy_limits(0, 1);
    loop.run_for(31s);  // the worker is gone
    for (int i = 0; i < 3; ++i) loop.run_for(submit("j1")->nak_delay);
    EXPECT_EQ(field("j1", "attempts"), "3");
    bus.on_publish = [this](const auto& message) -> Outcome<PublishAck> {
        if (message.subject.starts_with("worker.")) return not_connected();
        return bus.store(message);
    };
    for (int i = 0; i < 2; ++i) {
        heartbeat("w1");
        const Fate fate = submit("j1");
        EXPECT_EQ(fate->verdict, DeliveryFate::Verdict::nak);
        EXPECT_EQ(state("j1"), "SCHEDULED");
        loop.run_for(30s);
    }
    heartbeat("w1");
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_EQ(dead_letter_code("j1"), "max_retries_exceeded");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
