#include <gmock/gmock.h>

#include "sim/measure/measured_run.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

class MeasuresTest : public ::testing::Test {
protected:
    /// The measures of one run of a cluster with one scheduler and one worker.
    static MeasuredRun measured(const std::string& worker, const std::string& rest) {
        return measured_cluster(
            R"("cluster": {"schedulers": 1, "workers": [{"id": "w", "max_parallel_jobs": 1, "service_time": "2s")" +
            worker + "}]}," + rest);
    }

    static MeasuredRun measured_cluster(const std::string& members) {
        const std::string text = R"({"name": "measured", "duration": "20m", )" + members + "}";
        const auto scenario = parse_scenario(text, "measured.json");
        EXPECT_TRUE(scenario) << (scenario ? "" : to_string(scenario.error().front()));
        RunOptions options;
        options.measure = true;
        const RunResult result = run_scenario(*scenario, 1, options);
        EXPECT_TRUE(result.passed) << result.error << (result.violations.empty() ? "" : result.violations[0].detail);
        return result.measured ? *result.measured : MeasuredRun{};
    }
};

TEST_F(MeasuresTest, OfOneJobThatSimplyRuns) {
    const MeasuredRun run = measured("", R"("load": [{"at": "10s", "job": {"jobId": "a"}}])");
    EXPECT_THAT(run.values.at("in_state.RUNNING.mean"), AllOf(Ge(1990), Le(2050)));
    EXPECT_THAT(run.values.at("submit_to_terminal.mean"), AllOf(Ge(2000), Le(2500)));
    EXPECT_THAT(run.values.at("submit_to_dispatch.p99"), AllOf(Ge(1), Le(500)));
    EXPECT_EQ(run.values.at("attempts_per_job.max"), 1);
    EXPECT_EQ(run.values.at("wasted_work"), 0);
    EXPECT_EQ(run.values.at("dead_letters"), 0);
    EXPECT_EQ(run.values.at("circuit_not_closed"), 0);
    EXPECT_EQ(run.values.at("jobs_not_ended"), 0);
    EXPECT_EQ(*std::ranges::max_element(run.backlog), 1);
}

TEST_F(MeasuresTest, OfJobsThatFailForGood) {
    const MeasuredRun run = measured(R"(, "outcomes": {"FAILED_FATAL": 1})", R"("load": [{"at": "10s", "count": 3}])");
    EXPECT_EQ(run.values.at("dead_letters"), 3);
    double by_code = 0;
    for (const auto& [name, value] : run.values) by_code += name.starts_with("dead_letters.") ? value : 0;
    EXPECT_EQ(by_code, 3) << "each has a code";
}

TEST_F(MeasuresTest, OfEachTenant) {
    const MeasuredRun run = measured("", R"("load": [{"at": "10s", "count": 10, "job": {"tenant_id": "noisy"}},
        {"at": "11s", "count": 1, "job": {"tenant_id": "quiet"}}])");
    EXPECT_EQ(run.samples.at("of_tenant.noisy").size(), 10U);
    EXPECT_EQ(run.samples.at("of_tenant.quiet").size(), 1U);
    EXPECT_EQ(run.values.at("of_tenant.quiet.max"), run.samples.at("of_tenant.quiet").front());
}

TEST_F(MeasuresTest, OfAWorkerThatHangs) {
    const MeasuredRun run = measured(R"(, "outcomes": {"hang": 1})", R"("load": [{"at": "10s"}],
        "faults": [{"at": "0s", "do": "config.update", "timeouts": {"reconciler": {"running_timeout": "60s"}}}])");
    EXPECT_THAT(run.values.at("time_to_timeout.max"), AllOf(Ge(60'000), Le(95'000)));
}

TEST_F(MeasuresTest, OfAStepThatWaitsForATime) {
    const std::string runs = R"("cluster": {"schedulers": 1, "schedulers_run_workflows": true,
        "workers": [{"id": "w", "service_time": "1s"}]}, "load": [
        {"at": "1s", "workflow": {"put": {"id": "f", "org_id": "default", "steps": {
            "rest": {"type": "delay", "delay_sec": 3}, "work": {"type": "worker", "topic": "job.default"}}}}},
        {"at": "5s", "workflow": {"start": "f", "run": "r"}}])";
    const MeasuredRun calm = measured_cluster(runs);
    ASSERT_EQ(calm.samples.at("delay_lateness").size(), 1U) << "the other step waits for no time";
    EXPECT_THAT(calm.values.at("delay_lateness.max"), AllOf(Ge(0), Le(1000)));
    const MeasuredRun frozen =
        measured_cluster(runs + R"(, "faults": [{"at": "7s", "do": "pause", "target": "scheduler-0", "for": "6s"}])");
    EXPECT_THAT(frozen.values.at("delay_lateness.max"), AllOf(Ge(4000), Le(9000)));
}

TEST_F(MeasuresTest, OfRarePlaces) {
    const MeasuredRun run = measured("", R"("load": [{"at": "10s", "count": 20, "rate": "1/s"}],
        "faults": [{"at": "12s", "do": "kernel.outage", "for": "60s"}])");
    EXPECT_GT(run.values.at("times_reached.circuit_open"), 0);
    EXPECT_EQ(run.values.count("times_reached.tenant_limit"), 0U) << "never came to pass";
}

TEST_F(MeasuresTest, OfJobsThatAreLetThroughUnseen) {
    const MeasuredRun run = measured("", R"("load": [{"at": "10s", "count": 5, "rate": "1/s"}],
        "faults": [{"at": "9s", "do": "stop", "target": "scheduler-0", "for": "100ms", "config": {"policy_check_fail_mode": "open"}},
                   {"at": "9s", "do": "kernel.outage", "for": "60s"}])");
    EXPECT_GE(run.values.at("let_through_unseen"), 5) << "each of the five at least once";
}

TEST_F(MeasuresTest, OfAnOutageOfPolicy) {
    const MeasuredRun run = measured("", R"("load": [{"at": "10s", "count": 20, "rate": "1/s"}],
        "faults": [{"at": "12s", "do": "kernel.outage", "for": "60s"}])");
    EXPECT_THAT(run.values.at("circuit_not_closed"), AllOf(Ge(20'000), Le(150'000)));
    EXPECT_GT(run.values.at("waiting.policy_does_not_answer"), 1000);
    EXPECT_GE(run.values.at("policy_unanswered_in_a_row"), 3);
    EXPECT_GT(run.values.at("naks"), 0);
    EXPECT_GT(run.values.at("redeliveries"), 0);
    EXPECT_GE(run.values.at("herd_peak"), 1);
    ASSERT_EQ(run.faults.size(), 1U);
    EXPECT_EQ(run.faults[0].from_ms, 12'000);
    EXPECT_EQ(run.faults[0].to_ms, 72'000);
    ASSERT_EQ(run.samples.at("recovery").size(), 1U);
    EXPECT_GT(run.samples.at("recovery")[0], 0);
}

TEST_F(MeasuresTest, OfAWorkerThatDiesAtWork) {
    const MeasuredRun run = measured("", R"("load": [{"at": "10s", "count": 2}],
        "faults": [{"at": "11s", "do": "crash", "target": "w", "for": "5s"}])");
    EXPECT_THAT(run.values.at("wasted_work"), AllOf(Ge(500), Le(1000))) << "what it was at when it died";
    ASSERT_EQ(run.faults.size(), 1U);
    EXPECT_EQ(run.faults[0].kind, "crash of w");
}

}  // namespace
}  // namespace lockstep::sim
