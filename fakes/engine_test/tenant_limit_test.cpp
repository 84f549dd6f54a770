// The limits that policy sets with an allow: jobs of a tenant on their way at once, and dispatches of one job.
#include "engine/wire/packet.h"
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
    /// Who stands in line, the next one first.
    [[nodiscard]] Texts waiting(const std::string& tenant = "acme") {
        Texts jobs;
        const RedisValue line = run({"ZRANGE", "lockstep:tenant:waiting:" + tenant, "0", "-1"});
        for (const RedisValue& job : *line.array()) jobs.emplace_back(job.text());
        return jobs;
    }
    [[nodiscard]] std::int64_t slots() { return *run({"ZCARD", "lockstep:tenant:slots:acme"}).integer(); }
    /// Lets time pass in which the worker stays alive.
    void pass(Duration span) {
        for (Duration passed{}; passed < span; passed += 5s) {
            heartbeat("w1");
            loop.run_for(5s);
        }
    }
    void tell_of_cancel(const std::string& job) {
        cap::JobCancel cancel;
        cancel.set_job_id(job);
        bus.tell("sys.job.cancel", engine::wire::make_packet(std::move(cancel), job, "api-gateway", clock.now()));
        loop.settle();
    }
};

// H-34: a job does not count against itself, and waiting ones count against nobody.
TEST_F(ConstraintLimits, AsManyJobsOfATenantAsItsLimitAreOnTheirWay) {
    policy_limits(2);
    for (const char* job : {"j1", "j2", "j3", "j4"}) EXPECT_TRUE(submit(job)->acked()) << "the store remembers it";
    EXPECT_EQ(state("j3"), "PENDING");
    EXPECT_EQ(field("j3", "attempts"), "0");
    EXPECT_EQ(waiting(), (Texts{"j3", "j4"}));
    EXPECT_TRUE(submit_for("k1", "other")->acked());
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j3"), "RUNNING") << "whoever frees the slot hands it on at once";
    EXPECT_EQ(waiting(), (Texts{"j4"}));
    EXPECT_EQ(dispatches().size(), 4u);
}

TEST_F(ConstraintLimits, ALimitOfOneLetsOneRunAfterTheOther) {
    policy_limits(1);
    for (const char* job : {"j1", "j2", "j3"}) EXPECT_TRUE(submit(job)->acked());
    result("j1", cap::JOB_STATUS_FAILED);
    EXPECT_EQ(state("j2"), "RUNNING");
    EXPECT_EQ(state("j3"), "PENDING");
    result("j2", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j3"), "RUNNING");
    EXPECT_EQ(slots(), 1);
    EXPECT_EQ(*run({"EXISTS", "lockstep:tenant:waiting:acme", "lockstep:tenant:woken:acme"}).integer(), 0);
    EXPECT_EQ(field("j3", "ls_waits_since"), "");
}

// H-34b
TEST_F(ConstraintLimits, JobsWithoutATenantShareTheDefaultOne) {
    policy_limits(1);
    EXPECT_TRUE(submit_for("j1", "")->acked());
    EXPECT_TRUE(submit_for("j2", "")->acked());
    EXPECT_TRUE(submit_for("j3", "default")->acked());
    EXPECT_EQ(waiting("default"), (Texts{"j2", "j3"}));
}

TEST_F(ConstraintLimits, AMessageThatComesAgainChangesNothingForAJobInLine) {
    policy_limits(1);
    submit("j1");
    submit("j2");
    const std::size_t asked = kernel.questions.size();
    EXPECT_TRUE(submit("j2")->acked());
    EXPECT_EQ(kernel.questions.size(), asked);
    EXPECT_EQ(waiting(), (Texts{"j2"}));
}

TEST_F(ConstraintLimits, WhoComesLaterDoesNotTakeTheSlotThatIsInReserve) {
    policy_limits(1);
    submit("j1");
    submit("j2");
    kernel.latency = 1s;
    loop.run_for(6s);  // so that j2 has to ask again
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    submit("j3");
    loop.run_for(3s);
    EXPECT_EQ(state("j2"), "RUNNING");
    EXPECT_EQ(waiting(), (Texts{"j3"}));
}

// SAFE-01: an answer that has become old is asked for again when the slot is there, and one of a moment ago is not.
TEST_F(ConstraintLimits, PolicyIsAskedAgainOnlyWhenItsAnswerHasBecomeOld) {
    policy_limits(1);
    for (const char* job : {"j1", "j2", "j3"}) submit(job);
    EXPECT_EQ(kernel.questions.size(), 3u);
    loop.run_for(4s);
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j2"), "RUNNING");
    EXPECT_EQ(kernel.questions.size(), 3u);
    loop.run_for(2s);
    result("j2", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j3"), "RUNNING");
    EXPECT_EQ(kernel.questions.size(), 4u);
}

TEST_F(ConstraintLimits, AnotherReplicaAsksForItself) {
    policy_limits(1);
    submit("j1");
    submit("j2");
    crash();
    start();
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j2"), "RUNNING");
    EXPECT_EQ(kernel.questions.size(), 3u);
}

TEST_F(ConstraintLimits, ADenialAtTheSecondLookHolds) {
    policy_limits(1);
    for (const char* job : {"j1", "j2", "j3"}) submit(job);
    loop.run_for(6s);
    int asked = 0;
    kernel.answer = [&asked](const auto&) {
        return ScriptedKernel::says(++asked == 1 ? cap::DECISION_TYPE_DENY : cap::DECISION_TYPE_ALLOW);
    };
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j2"), "DENIED");
    EXPECT_EQ(state("j3"), "RUNNING") << "the slot goes on to the next";
}

TEST_F(ConstraintLimits, AHigherLimitIsForEverybodyInLine) {
    policy_limits(1);
    for (const char* job : {"j1", "j2", "j3", "j4", "j5"}) submit(job);
    loop.run_for(6s);
    policy_limits(3);
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(slots(), 3);
    EXPECT_EQ(waiting(), (Texts{"j5"}));
}

TEST_F(ConstraintLimits, ALowerOneTooAndNobodyLosesHisPlace) {
    policy_limits(2);
    for (const char* job : {"j1", "j2", "j3", "j4"}) submit(job);
    loop.run_for(6s);
    policy_limits(1);
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(waiting(), (Texts{"j3", "j4"}));
    EXPECT_EQ(slots(), 1);
    result("j2", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j3"), "RUNNING");
    EXPECT_EQ(waiting(), (Texts{"j4"}));
}

// Nothing ends, so nobody would notice: the first of the line asks now and then.
TEST_F(ConstraintLimits, ALimitThatIsRaisedIsLearntWhileNothingMoves) {
    policy_limits(1);
    submit("j1");
    submit("j2");
    policy_limits(2);
    pass(65s);
    EXPECT_EQ(state("j2"), "RUNNING");
}

// A gateway's cancellation knows nothing of the slots.
TEST_F(ConstraintLimits, ASlotThatSomebodyElseFreedIsFound) {
    policy_limits(1);
    EXPECT_TRUE(submit("j1")->acked());
    run({"HSET", "job:meta:j1", "state", "CANCELLED"});
    EXPECT_TRUE(submit("j2")->acked());
    EXPECT_EQ(state("j2"), "RUNNING");
    EXPECT_EQ(run({"ZSCORE", "lockstep:tenant:slots:acme", "j1"}).text(), "");
    EXPECT_EQ(slots(), 1);
}

TEST_F(ConstraintLimits, WhoHearsOfACancellationHandsTheSlotOn) {
    policy_limits(1);
    submit("j1");
    submit("j2");
    run({"HSET", "job:meta:j1", "state", "CANCELLED"});
    tell_of_cancel("j1");
    EXPECT_EQ(state("j2"), "RUNNING");
}

TEST_F(ConstraintLimits, AndSoDoesTheReconcilerWhereNobodyHasHeard) {
    policy_limits(1);
    submit("j1");
    submit("j2");
    run({"HSET", "job:meta:j1", "state", "CANCELLED"});
    pass(35s);
    EXPECT_EQ(state("j2"), "RUNNING");
}

TEST_F(ConstraintLimits, AJobThatEndsLeavesTheLine) {
    policy_limits(1);
    for (const char* job : {"j1", "j2", "j3", "j4"}) submit(job);
    tell_of_cancel("j2");
    EXPECT_EQ(waiting(), (Texts{"j3", "j4"}));
    run({"HSET", "job:meta:j3", "state", "CANCELLED"});  // by a gateway
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j4"), "RUNNING");
    EXPECT_EQ(waiting(), Texts{});
}

TEST_F(ConstraintLimits, ALookIsBoundedHoweverManyHaveTheirSlotsForNothing) {
    policy_limits(40);
    for (int i = 0; i < 40; ++i)
        run({"ZADD", "lockstep:tenant:slots:acme", std::to_string(i + 1), "gone-" + std::to_string(i)});
    submit("j1");
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(slots(), 40 - 16 + 1);
}

// The answer to the commit that freed the slot is lost, and with it the name of the job that it has woken.
TEST_F(ConstraintLimits, AWakeThatNobodyHasHeardIsMadeGood) {
    policy_limits(1);
    submit("j1");
    submit("j2");
    int commits = 0;
    on_script(scripts.commit, [&commits] { return ++commits == 1 ? CallFault::unknown : CallFault::none; });
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(state("j2"), "PENDING");
    pass(45s);
    EXPECT_EQ(state("j2"), "RUNNING");
}

TEST_F(ConstraintLimits, AReplicaThatDiesWithAWakeIsMadeGood) {
    policy_limits(1);
    submit("j1");
    submit("j2");
    loop.run_for(6s);
    kernel.latency = 1s;
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    crash();  // it was about to ask policy
    kernel.latency = 0s;
    run({"DEL", "cordum:scheduler:job:j2"});
    start();
    pass(100s);  // the dead replica's tick lock has to expire first
    EXPECT_EQ(state("j2"), "RUNNING");
}

TEST_F(ConstraintLimits, AJobInLineOutlivesItsRecords) {
    tunables.job_meta_ttl = 5min;
    crash();
    start();
    policy_limits(1);
    submit("j1");
    submit("j2");
    for (int i = 0; i < 20; ++i) {
        run({"PEXPIRE", "job:meta:j1", "3600000"});
        run({"PEXPIRE", "lockstep:tenant:slots:acme", "3600000"});
        pass(30s);
    }
    EXPECT_EQ(state("j2"), "PENDING");
    EXPECT_EQ(waiting(), (Texts{"j2"}));
}

TEST_F(ConstraintLimits, NothingOfALineIsKeptForEver) {
    policy_limits(1);
    for (const char* job : {"j1", "j2"}) submit(job);
    for (const char* key : {"lockstep:tenant:slots:acme", "lockstep:tenant:waiting:acme", "lockstep:tenant:turns:acme",
                            "lockstep:tenants:waiting"})
        EXPECT_GT(*run({"PTTL", key}).integer(), 0) << key;
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    result("j2", cap::JOB_STATUS_SUCCEEDED);
    pass(31s);
    EXPECT_EQ(*run({"EXISTS", "lockstep:tenants:waiting"}).integer(), 0);
}

TEST_F(ConstraintLimits, AtTheLimitNoWorkerIsNoFailedTry) {
    policy_limits(1);
    EXPECT_TRUE(submit("j1")->acked());
    auto request = request_for("j2");
    request.set_topic("job.unmapped");
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(field("j2", "attempts"), "0");
    EXPECT_EQ(waiting(), (Texts{"j2"}));
}

// With the mechanism off nobody is woken: whoever finds the tenant full tries again after a while.
TEST_F(ConstraintLimits, WithoutALineATryFollowsATry) {
    crash();
    more_config.mechanisms.switch_off(engine::Mechanism::tenant_queue);
    start();
    policy_limits(1);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_TRUE(submit("j2")->handed_back(2s));
    EXPECT_EQ(waiting(), Texts{});
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j2"), "PENDING");
    loop.run_for(2s);
    EXPECT_TRUE(submit("j2")->acked());
    EXPECT_EQ(state("j2"), "RUNNING");
}

// Scheduled while policy named no limit, and without a worker since.
TEST_F(ConstraintLimits, MoreThanTheLimitThatHoldASlotGoOutOneAfterTheOther) {
    bool cut_off = true;
    bus.on_publish = [&](const auto& message) -> Outcome<PublishAck> {
        if (cut_off && message.subject.starts_with("worker.")) return not_connected();
        return bus.store(message);
    };
    policy_limits(0);
    for (const char* job : {"j1", "j2", "j3"}) {
        submit(job);
        EXPECT_EQ(state(job), "SCHEDULED");
    }
    cut_off = false;
    std::size_t sent = dispatches().size();
    submit("k1");
    policy_limits(1);
    for (const char* job : {"k1", "j3", "j2", "j1"}) {
        loop.run_for(3s);
        heartbeat("w1");
        for (const char* tried : {"j3", "j2", "j1"}) submit(tried);
        EXPECT_EQ(state(job), "RUNNING");
        EXPECT_EQ(dispatches().size(), ++sent);
        result(job, cap::JOB_STATUS_SUCCEEDED);
    }
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
        EXPECT_EQ(fate->answer, DeliveryFate::Answer::nak);
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
