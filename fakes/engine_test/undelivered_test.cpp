// Submissions and results that their durable does not deliver: which of them are read from the stream, and when.
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

namespace wire = engine::wire;

class UndeliveredTest : public SchedulerTest {
protected:
    UndeliveredTest() {
        tunables.reconciler_interval = 1s;
        tunables.bus_ack_wait = 20s;
        tunables.worker_ttl = 24h;
    }
    /// Into the stream, and to nobody.
    void stands(const cap::JobRequest& request) {
        stands(wire::serialise(wire::make_packet(request, "", "c", clock.now())));
    }
    void stands(std::string payload) {
        const engine::StreamSequence sequence = bus.store({"sys.job.submit", std::move(payload), {}, {}}).sequence;
        if (durable().in_hand++ == 0) durable().ack_floor = engine::StreamSequence(sequence.value() - 1);
    }
    /// What the durable of submissions says of itself.
    engine::ConsumerState& durable() { return bus.consumer_states["dur_cordum-scheduler__sys_job_submit"]; }
    Duration patience() const { return tunables.bus_ack_wait + tunables.reconciler_interval; }
};

TEST_F(UndeliveredTest, WhatHasNotComeWithinTheAckWaitIsTakenFromTheStream) {
    start();
    stands(request_for("a"));
    loop.run_for(patience() - 1s);
    EXPECT_EQ(state("a"), "") << "it may still come";
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "RUNNING");
    const std::size_t sent = bus.published.size();
    loop.run_for(10s);
    EXPECT_EQ(bus.published.size(), sent) << "it is known now";
}

TEST_F(UndeliveredTest, WhatCannotBeReadOrNamesNobodyIsPassedBy) {
    start();
    stands("\x01 no packet");
    stands(cap::JobRequest{});
    stands(request_for("a"));
    loop.run_for(patience() + 1s);
    EXPECT_EQ(state("a"), "RUNNING");
}

TEST_F(UndeliveredTest, NothingIsReadWhileNothingIsInHand) {
    start();
    stands(request_for("a"));
    durable() = {};
    int reads = 0;
    bus.on_read = [&reads](const std::string&, engine::StreamSequence) -> Outcome<std::optional<StoredMessage>> {
        ++reads;
        return std::optional<StoredMessage>();
    };
    loop.run_for(2 * patience());
    EXPECT_EQ(reads, 0);
    EXPECT_EQ(state("a"), "");
}

TEST_F(UndeliveredTest, WhatTheStoreMayHaveForgottenIsNotTakenAgain) {
    tunables.job_meta_ttl = 1h;
    start();
    stands(request_for("old"));
    durable() = {};
    loop.run_for(31min);
    stands(request_for("new"));
    durable() = {0, 2, {}};
    loop.run_for(patience() + 1s);
    EXPECT_EQ(state("old"), "");
    EXPECT_EQ(state("new"), "RUNNING");
}

TEST_F(UndeliveredTest, TheNextTickGoesOnWhereOneHasEnded) {
    start();
    for (int i = 0; i < 150; ++i) stands("\x01 no packet");
    stands(request_for("a"));
    loop.run_for(patience() + 500ms);
    EXPECT_EQ(state("a"), "");
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "RUNNING");
}

/// A durable in a cluster of servers, of which one leads.
class PassedByTest : public UndeliveredTest {
protected:
    PassedByTest() {
        durable().leader = "one";
        results().leader = "one";
    }
    engine::ConsumerState& results() { return bus.consumer_states["dur_cordum-scheduler__sys_job_result"]; }
    /// Into the stream, and the durable takes it for done.
    void is_passed_by(engine::ConsumerState& durable, const std::string& subject, std::string payload) {
        const engine::StreamSequence sequence = bus.store({subject, std::move(payload), {}, {}}).sequence;
        durable.ack_floor = sequence;
    }
    void submission_is_passed_by(const std::string& job) {
        is_passed_by(durable(), "sys.job.submit",
                     wire::serialise(wire::make_packet(request_for(job), "", "c", clock.now())));
    }
    void result_is_passed_by(const std::string& job) {
        is_passed_by(
            results(), "sys.job.result",
            wire::serialise(wire::make_packet(result_of(job, cap::JOB_STATUS_SUCCEEDED), "", "w1", clock.now())));
    }
    void another_leads() {
        durable().leader += "'";
        results().leader += "'";
    }
};

TEST_F(PassedByTest, WhatTheFloorHasPassedIsTakenFromTheStreamOnceAnotherServerLeads) {
    start();
    loop.run_for(2s);
    submission_is_passed_by("a");
    another_leads();
    loop.run_for(patience() - 2s);
    EXPECT_EQ(state("a"), "") << "it may still come";
    loop.run_for(3s);
    EXPECT_EQ(state("a"), "RUNNING");
    const std::size_t sent = bus.published.size();
    loop.run_for(10s);
    EXPECT_EQ(bus.published.size(), sent) << "it is known now";
}

TEST_F(PassedByTest, TheFloorOfALeaderThatStaysIsBelieved) {
    start();
    loop.run_for(2s);
    submission_is_passed_by("done elsewhere");
    loop.run_for(2 * patience());
    another_leads();
    loop.run_for(2 * patience());
    EXPECT_EQ(state("done elsewhere"), "") << "the first leader has told of a floor behind it";
}

TEST_F(PassedByTest, AReplicaThatStartsLaterKnowsTheFloorOfTheFormerLeader) {
    run({"HSET", "lockstep:durable:dur_cordum-scheduler__sys_job_submit", "leader", "another", "accounted", "0",
         "passed_by", "0"});
    submission_is_passed_by("a");
    start();
    loop.run_for(patience() + 2s);
    EXPECT_EQ(state("a"), "RUNNING");
}

TEST_F(PassedByTest, WhatIsHandedInInVainIsHandedInAgain) {
    start();
    loop.run_for(2s);
    submission_is_passed_by("a");
    another_leads();
    bool away = true;
    on_script(scripts.take_up, [&away] { return away ? CallFault::not_applied : CallFault::none; });
    loop.run_for(patience() + 500ms);
    EXPECT_EQ(state("a"), "") << "Redis has refused it";
    away = false;
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "RUNNING");
}

TEST_F(PassedByTest, AResultThatTheFloorHasPassedEndsItsJob) {
    start();
    run_job("a");
    loop.run_for(2s);
    result_is_passed_by("a");
    another_leads();
    loop.run_for(patience() + 2s);
    EXPECT_EQ(state("a"), "SUCCEEDED");
}

// D-04
TEST_F(PassedByTest, NobodyIsTimedOutForAResultThatTheFloorHasPassed) {
    tunables.running_timeout = 5s;
    start();
    run_job("a");
    run_job("b");
    loop.run_for(2s);
    result_is_passed_by("a");
    another_leads();
    loop.run_for(8s);
    EXPECT_EQ(state("a"), "RUNNING");
    EXPECT_EQ(state("b"), "TIMEOUT");
    loop.run_for(patience());
    EXPECT_EQ(state("a"), "SUCCEEDED");
}

// D-04
TEST_F(PassedByTest, AReplicaThatTicksForTheFirstTimeTimesNobodyOutBeforeItKnowsWhatIsHidden) {
    tunables.running_timeout = 5s;
    start();
    run_job("a");
    loop.run_for(2s);
    result_is_passed_by("a");
    another_leads();
    loop.run_for(1500ms);
    ASSERT_EQ(text({"HGET", "lockstep:durable:dur_cordum-scheduler__sys_job_result", "leader"}), "one'");
    crash();
    loop.run_for(2s);
    boot();
    loop.run_for(5s);
    EXPECT_EQ(state("a"), "RUNNING");
    loop.run_for(patience());
    EXPECT_EQ(state("a"), "SUCCEEDED");
}

// No floor was noted before another server led.
TEST_F(PassedByTest, TheFirstLookBelievesNoFloorBehindAResultOfAJobThatIsAtWork) {
    tunables.running_timeout = 5s;
    start();
    for (int i = 0; i < 20; ++i) result_is_passed_by("other");
    run({"SET", "cordum:reconciler:default", "another", "PX", "23000"});
    run_job("a");
    result_is_passed_by("a");
    another_leads();
    run({"DEL", "lockstep:durable:dur_cordum-scheduler__sys_job_result"});
    loop.run_for(22s);
    EXPECT_EQ(state("a"), "RUNNING");
    loop.run_for(5s);
    EXPECT_EQ(state("a"), "SUCCEEDED");
}

// What a replica leaves that dies while it has the result in hand.
TEST_F(PassedByTest, AResultWhoseJobIsLockedIsHandedInUntilTheLockHasRunOut) {
    start();
    run_job("a");
    loop.run_for(2s);
    run({"SET", "cordum:scheduler:job:a", "of the dead", "PX", "60000"});
    result_is_passed_by("a");
    another_leads();
    loop.run_for(55s);
    EXPECT_EQ(state("a"), "RUNNING");
    loop.run_for(15s);
    EXPECT_EQ(state("a"), "SUCCEEDED");
}

TEST_F(PassedByTest, WhatIsRefusedEveryTimeHoldsNobodyUp) {
    start();
    loop.run_for(2s);
    cap::JobRequest refused = request_for("refused");
    refused.clear_topic();
    is_passed_by(durable(), "sys.job.submit", wire::serialise(wire::make_packet(refused, "", "c", clock.now())));
    another_leads();
    loop.run_for(patience() + tunables.publish_resend_limit + 10s);
    EXPECT_EQ(text({"HGET", "lockstep:durable:dur_cordum-scheduler__sys_job_submit", "accounted"}),
              std::to_string(durable().ack_floor.value()));
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
