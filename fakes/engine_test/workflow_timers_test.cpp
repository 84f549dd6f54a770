// Delays and next tries of runs: durable, never early, once, after any crash (workflow.md 7).
#include <gmock/gmock.h>

#include "engine/workflow/delay_timers.h"
#include "fakes/engine_test/workflow_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkflowTimers : public WorkflowTest {
protected:
    static json delay(int seconds) { return {{"type", "delay"}, {"delay_sec", seconds}}; }
    static json worker(json more = json::object()) {
        json step{{"type", "worker"}, {"topic", "job.default"}};
        step.update(more);
        return step;
    }
    [[nodiscard]] std::string score(const std::string& member) {
        return text({"ZSCORE", "cordum:wf:delay:timers", member});
    }
};

// FLOW-06, H-22
TEST_F(WorkflowTimers, ALongDelayStandsInRedisByWholeSecondsRoundedUp) {
    put({{"a", delay(30)}});
    boot_engine();
    loop.run_for(300ms);
    begin("run-1");
    EXPECT_EQ(score("wf-1:run-1"), "1767225631") << "30.3 s after 2026-01-01T00:00:00Z";
    loop.run_for(29'999ms);
    EXPECT_EQ(status("run-1"), "running");
    loop.run_for(2ms);
    EXPECT_EQ(status("run-1"), "succeeded");
    EXPECT_EQ(score("wf-1:run-1"), "");
}

// FLOW-13, C-26
TEST_F(WorkflowTimers, AShortDelayLivesInMemoryAndALongOneInRedisToo) {
    put({{"a", delay(9)}});
    put({{"a", delay(10)}}, {{"id", "wf-2"}});
    put({{"a", delay(0)}}, {{"id", "wf-3"}});
    boot_engine();
    begin("run-1");
    store_run("run-2", json::object(), "wf-2");
    wake("run-2");
    store_run("run-3", json::object(), "wf-3");
    wake("run-3");
    EXPECT_EQ(score("wf-1:run-1"), "");
    EXPECT_NE(score("wf-2:run-2"), "");
    EXPECT_EQ(status("run-3"), "succeeded");
    loop.run_for(9s);
    EXPECT_EQ(status("run-1"), "succeeded");
}

TEST_F(WorkflowTimers, ADelayOutlivesTheReplicaThatSetIt) {
    put({{"a", delay(30)}, {"b", worker({{"depends_on", {"a"}}})}});
    boot_engine();
    begin("run-1");
    crash_engine();
    loop.run_for(60s);
    boot_engine();
    EXPECT_THAT(submitted(), ElementsAre("run-1:b@1")) << "past due: fired at the start";
    EXPECT_EQ(score("wf-1:run-1"), "");
}

TEST_F(WorkflowTimers, WhatIsToComeIsSetAgainAtTheStart) {
    put({{"a", delay(30)}});
    boot_engine();
    begin("run-1");
    crash_engine();
    loop.run_for(5s);
    tunables.delay_poller_interval = 1h;
    tunables.wf_scan_interval = 1h;
    boot_engine();
    loop.run_for(25'100ms);
    EXPECT_EQ(status("run-1"), "succeeded");
}

TEST_F(WorkflowTimers, TheTimersOfADeadReplicaArePolledByAnother) {
    put({{"a", delay(30)}});
    tunables.wf_scan_interval = 1h;
    boot_engine();
    begin("run-1");
    auto dead = std::move(engine_);
    boot_engine();
    dead.reset();
    loop.run_for(45s);
    EXPECT_EQ(status("run-1"), "succeeded");
}

// H-23
TEST_F(WorkflowTimers, TwoDelaysOfOneRunAreBothKept) {
    put({{"a", delay(20)}, {"b", delay(40)}});
    boot_engine();
    begin("run-1");
    EXPECT_EQ(score("wf-1:run-1"), "1767225620");
    loop.run_for(20s);
    EXPECT_EQ(status("run-1", "a"), "succeeded");
    EXPECT_EQ(score("wf-1:run-1"), "1767225640") << "the next one stands there now";
    crash_engine();
    loop.run_for(40s);
    boot_engine();
    EXPECT_EQ(status("run-1"), "succeeded");
}

// C-27, H-59
TEST_F(WorkflowTimers, ATimerThatWasTakenAndNotServedIsDueAgainAMinuteLater) {
    put({{"a", delay(30)}});
    tunables.wf_scan_interval = 1h;
    boot_engine();
    begin("run-1");
    crash_engine();
    loop.run_for(31s);
    run({"SET", "cordum:wf:run:lock:run-1", "somebody", "PX", "600000"});
    boot_engine();  // takes the timer, and cannot visit the run
    loop.run_for(1s);
    crash_engine();
    run({"DEL", "cordum:wf:run:lock:run-1"});
    EXPECT_NE(score("wf-1:run-1"), "");
    boot_engine();
    loop.run_for(70s);
    EXPECT_EQ(status("run-1"), "succeeded");
}

TEST_F(WorkflowTimers, AShortDelayIsRecoveredByTheLookAtRuns) {
    put({{"a", delay(8)}});
    boot_engine();
    begin("run-1");
    crash_engine();
    boot_engine();
    loop.run_for(20s);
    EXPECT_EQ(status("run-1"), "succeeded");
}

TEST_F(WorkflowTimers, ARetryHasItsPauseAndIsDurableToo) {
    put({{"a", worker({{"retry", {{"max_retries", 1}, {"initial_backoff_sec", 20}}}})}});
    boot_engine();
    begin("run-1");
    end_job("run-1:a@1", "FAILED");
    EXPECT_EQ(score("wf-1:run-1"), "1767225620");
    loop.run_for(19'999ms);
    EXPECT_THAT(submitted(), ElementsAre("run-1:a@1"));
    loop.run_for(1ms);
    EXPECT_THAT(submitted(), ElementsAre("run-1:a@1", "run-1:a@2"));
}

TEST_F(WorkflowTimers, ARunsTimeLimitIsKeptToTheInstant) {
    put({{"a", worker()}}, {{"timeout_sec", 12}});
    boot_engine();
    begin("run-1");
    loop.run_for(12s);
    EXPECT_EQ(status("run-1"), "timed_out");
    EXPECT_EQ(cancellations(), 1u);
}

// FLOW-10
TEST_F(WorkflowTimers, OnlyTimersOfEndedOrAbsentRunsAreDropped) {
    put({{"a", {{"type", "approval"}}}});
    boot_engine();
    begin("run-1");
    const auto at = [&](Duration from_now) {
        return std::to_string(
            std::chrono::duration_cast<std::chrono::seconds>((clock.now() + from_now).time_since_epoch()).count());
    };
    run({"SET", "cordum:wf:delay:poller", "somebody", "PX", "1000"});
    run({"ZADD", "cordum:wf:delay:timers", at(-2h), "wf-1:gone", at(-2h), "wf-1:run-1", at(30min), "wf-1:later"});
    loop.run_for(400s);
    EXPECT_EQ(score("wf-1:gone"), "");
    EXPECT_NE(score("wf-1:later"), "");
}

// FLOW-12
TEST(TimerMember, NamesARunOrNothing) {
    EXPECT_EQ(engine::run_of_timer("wf-1:run-1"), "run-1");
    for (const char* odd : {"", "wf-1", ":run-1", "wf-1:"}) EXPECT_FALSE(engine::run_of_timer(odd)) << odd;
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
