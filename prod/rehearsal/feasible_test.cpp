#include "prod/rehearsal/feasible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prod/rehearsal/worker_script.h"
#include "sim/scenario/loader.h"

namespace lockstep::prod::rehearsal {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

sim::Scenario scenario(const std::string& parts, const std::string& of_cluster = R"("schedulers": 1)") {
    const std::string workers = of_cluster.find("\"workers\"") != std::string::npos
                                    ? ""
                                    : R"("workers": [ { "id": "w", "service_time": "1s" } ], )";
    auto loaded = sim::parse_scenario(R"({ "name": "x", "description": "x",
        "cluster": { )" + workers + of_cluster +
                                          R"( },
        "load": [ { "at": "1s", "count": 5 } ], )" +
                                          parts + "}",
                                      "x.json");
    if (!loaded) throw std::runtime_error(sim::to_string(loaded.error().front()));
    return std::move(*loaded);
}

TEST(Feasible, WhatCannotBeDoneIsTakenOutAndSaid) {
    const auto f = feasible(scenario(R"("faults": [
        { "at": "1s", "do": "crash", "target": "scheduler-0", "for": "1s" },
        { "at": "1s", "do": "redis.errors", "rate": 0.5, "for": "1s" },
        { "at": "1s", "do": "pause", "target": "gateway", "for": "1s" },
        { "on": { "event": "ack", "nth": 1 }, "do": "crash", "target": "scheduler-0", "for": "1s" },
        { "on": { "event": "state", "to": "DISPATCHED", "nth": 1 }, "do": "crash", "target": "scheduler-0", "for": "1s" } ],
        "expect": { "states": { "SUCCEEDED": 5 } })"),
                            1min);
    ASSERT_TRUE(f);
    ASSERT_EQ(f->scenario.faults.size(), 2U);
    EXPECT_EQ(f->scenario.faults[0].pointer, "/faults/0");
    EXPECT_EQ(f->scenario.faults[1].pointer, "/faults/4");
    EXPECT_THAT(f->not_applied,
                ElementsAre(StartsWith("/faults/1 redis.errors:"), StartsWith("/faults/2 pause of gateway:"),
                            StartsWith("/faults/3 crash of scheduler-0 on ack:")));
}

TEST(Feasible, NobodyIsStartedAgainWithOtherSettings) {
    const auto f = feasible(scenario(R"("faults": [
        { "at": "1s", "do": "stop", "target": "scheduler-0", "for": "1s", "config": { "job_lock_ttl": "30s" } } ],
        "expect": { "states": { "SUCCEEDED": 5 } })"),
                            1min);
    ASSERT_TRUE(f);
    EXPECT_THAT(f->scenario.faults, IsEmpty());
    EXPECT_THAT(f->not_applied, ElementsAre(StartsWith("/faults/0 stop of scheduler-0: lockstepd is started again")));
}

TEST(Feasible, ThereIsNoProgramThatReadsResultsBesideTheSchedulers) {
    auto with_reader = scenario(R"("faults": [
        { "at": "1s", "do": "crash", "target": "result-readers", "for": "1s" } ], "seed": 1)",
                                R"("result_readers": 1)");
    const auto f = feasible(std::move(with_reader), 1min);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->scenario.cluster.result_readers, 0);
    EXPECT_THAT(f->scenario.faults, IsEmpty());
    EXPECT_THAT(f->not_applied,
                ElementsAre(StartsWith("/faults/0 crash of result-readers"), StartsWith("result readers")));
}

TEST(Feasible, WorkersComeToOneEndAndTheirFirstJobsToAnother) {
    const auto f = feasible(scenario("\"seed\": 1", R"("workers": [
        { "id": "bad", "outcomes": { "FAILED_FATAL": 1 }, "first_outcomes": ["FAILED", "FAILED_RETRYABLE"], "service_time": "250ms" },
        { "id": "odd", "outcomes": { "SUCCEEDED": 1, "FAILED": 1 } },
        { "id": "lost", "outcomes": { "hang": 1 } } ])"),
                            1min);
    ASSERT_TRUE(f);
    const auto& workers = f->scenario.cluster.workers;
    EXPECT_THAT(f->not_applied, ElementsAre(StartsWith("outcomes of odd:"), StartsWith("outcomes of lost:")));
    EXPECT_FALSE(only_succeeds(workers[0]));
    EXPECT_TRUE(only_succeeds(workers[1]));
    EXPECT_TRUE(only_succeeds(workers[2]));
    EXPECT_EQ(worker_script(workers[0], "/tmp/x"),
              "cat >/dev/null; n=0; while [ $n -lt 2 ] && ! (set -C; : >'/tmp/x'.$n) 2>/dev/null; do n=$((n+1)); done; "
              "sleep 0.250; echo '{}'; case $n in 0) exit 1;; 1) exit 75;; *) exit 65;; esac");
}

TEST(Feasible, WorkflowsAreRunByEnginesOfTheirOwn) {
    const auto f = feasible(scenario(R"("faults": [
        { "at": "1s", "do": "crash", "target": "workflow-0", "for": "1s" } ], "seed": 1)",
                                     R"("workflow_engines": 2)"),
                            1min);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->scenario.cluster.workflow_engines, 2);
    EXPECT_EQ(f->scenario.faults.size(), 1U);
    EXPECT_THAT(f->not_applied, IsEmpty());
}

TEST(Feasible, WhatCannotBeSeenIsNotJudged) {
    const auto f = feasible(scenario(R"("expect": { "invariants": ["no_lost_job", "fail_closed"],
        "metrics": { "cordum_scheduler_jobs_dispatched_total": 5 },
        "events": [ { "event": "kernel_check", "count": 5 } ] })"),
                            1min);
    ASSERT_TRUE(f);
    EXPECT_THAT(f->scenario.expect.invariants, ElementsAre("no_lost_job"));
    EXPECT_THAT(f->scenario.expect.metrics, IsEmpty());
    EXPECT_THAT(f->not_judged,
                ElementsAre(HasSubstr("jobs_dispatched_total"), HasSubstr("kernel_check"), "invariant fail_closed"));
}

TEST(Feasible, AllInvariantsAreThoseThatAreSeen) {
    const auto f = feasible(scenario(R"("expect": { "invariants": "all" })"), 1min);
    ASSERT_TRUE(f);
    EXPECT_THAT(f->not_judged, Contains("invariant fail_closed"));
    EXPECT_THAT(f->not_judged, Contains("invariant dead_letter_complete, 5 of its 10 rules"));
    for (const std::string name : {"no_lost_job", "legal_transitions", "one_terminal_result", "result_kept",
                                   "run_exclusion", "run_progress", "lifetimes_kept", "result_from_its_worker"})
        EXPECT_THAT(f->not_judged, Not(Contains(StartsWith("invariant " + name))));
}

TEST(Feasible, AScenarioThatNeedsABrokenEngineIsRefused) {
    auto without = scenario(R"("expect": { "invariants": "all" })");
    without.without = {"job_lock"};
    EXPECT_THAT(feasible(without, 1min).error(), HasSubstr("mechanisms"));
}

TEST(Feasible, AScenarioThatLastsTooLongIsRefused) {
    const std::string late = R"("faults": [ { "at": "50s", "do": "pause", "target": "w", "for": "20s" } ],
                                "expect": { "states": { "SUCCEEDED": 5 } })";
    EXPECT_FALSE(feasible(scenario(late), 1min));
    EXPECT_TRUE(feasible(scenario(late), 2min));
}

}  // namespace
}  // namespace lockstep::prod::rehearsal
