// Workers that fall silent between being picked and being sent to.
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class StaleWorkers : public SchedulerTest {
protected:
    /// From the policy check on the store is so far away that a commit takes longer than a worker lives, and there is always
    /// somebody new to pick: each of `count` workers sends a single heartbeat, one every half of its life.
    void let_them_come_and_go(int count) {
        for (int i = 0; i < count; ++i) {
            heartbeat("w" + std::to_string(i));
            loop.run_for(500ms);
        }
    }
    void SetUp() override {
        tunables.worker_ttl = 1s;
        boot();
        heartbeat("w");
        kernel.answer = [this](const auto&) {
            slow_redis.latency = 2s;
            return ScriptedKernel::says(cap::DECISION_TYPE_ALLOW);
        };
    }
};

// STALE-03, C-34
TEST_F(StaleWorkers, ThreeInARowEndTheTryAndNameTheReason) {
    const Fate fate = submit("j1");
    let_them_come_and_go(60);
    EXPECT_EQ(log.times_reached("stale_worker"), 3);
    EXPECT_TRUE(log.told("job not dispatched", "reason", "stale_worker"));
    EXPECT_FALSE(log.told("job not dispatched", "reason", "no_workers"));
    EXPECT_TRUE(dispatches().empty()) << "none of them was sent anything";
    EXPECT_EQ(state("j1"), "SCHEDULED");
    EXPECT_FALSE(locked("j1"));
    EXPECT_EQ(fate->answer, DeliveryFate::Answer::nak);
    EXPECT_GE(fate->nak_delay, 1s) << "BACK-01";
    EXPECT_LT(fate->nak_delay, 1500ms);
}

// STALE-03
TEST_F(StaleWorkers, AnotherOneThatStaysGetsTheJob) {
    const Fate fate = submit("j1");
    let_them_come_and_go(6);
    for (int i = 0; i < 40; ++i) {
        heartbeat("steady");
        loop.run_for(500ms);
    }
    EXPECT_GE(log.times_reached("stale_worker"), 1);
    EXPECT_LT(log.times_reached("stale_worker"), 3);
    ASSERT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(dispatches()[0].subject, "worker.steady.jobs");
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
