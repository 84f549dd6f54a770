#include "sim/compare/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "fakes/testing/server_process.h"
#include "sim/run/run_scenario.h"

namespace lockstep::sim {
namespace {

using ::testing::HasSubstr;

/// Workers that sometimes fail in a way that is worth another try, behind slow policy: enough for settings to tell.
constexpr const char* kScenario = R"({
  "name": "compared", "duration": "10m",
  "cluster": {
    "schedulers": 2,
    "kernel": {"latency": {"dist": "exp", "mean": "20ms"}},
    "workers": [{"id": "w", "count": 2, "max_parallel_jobs": 4, "service_time": {"dist": "exp", "mean": "2s"},
                 "outcomes": {"SUCCEEDED": 3, "FAILED_RETRYABLE": 1}}]
  },
  "load": [{"at": "1s", "count": 30, "rate": "10/s"}],
  "faults": [%s]
})";

class CompareTest : public ::testing::Test {
protected:
    ComparisonPlan plan(const std::vector<std::string>& vary, const std::string& faults = "") {
        const std::string file = (folder_.path() / "compared.json").string();
        std::string text = kScenario;
        text.replace(text.find("%s"), 2, faults);
        std::ofstream(file) << text;
        auto made = quick_comparison(file, vary);
        EXPECT_TRUE(made);
        made->seeds = 3;
        return *made;
    }
    static reports::Comparison compared(const ComparisonPlan& plan, CompareOptions options = {}) {
        const auto worlds = load_worlds(plan);
        EXPECT_TRUE(worlds) << (worlds ? "" : to_string(worlds.error().front()));
        return worlds ? compare(plan, *worlds, run_scenario, options) : reports::Comparison{};
    }
    static double value(const reports::Comparison& made, std::size_t run, std::string_view measure) {
        for (std::size_t m = 0; m < made.measures.size(); ++m)
            if (made.measures[m].name == measure) return made.runs[run].values[m];
        ADD_FAILURE() << "no measure " << measure;
        return std::nan("");
    }

private:
    fakes::testing::TemporaryFolder folder_;
};

TEST_F(CompareTest, ATuningAgainstItselfDiffersByExactlyNothing) {
    ComparisonPlan twice = plan({"backoff_base=1s"});
    twice.variants.push_back(twice.variants[0]);
    twice.variants[1].name = "the same";
    const auto made = compared(twice);
    ASSERT_EQ(made.runs.size(), 6U);
    for (std::size_t i = 0; i < made.runs.size(); i += 2) {
        EXPECT_EQ(made.runs[i].seed, made.runs[i + 1].seed);
        EXPECT_EQ(made.runs[i].digest, made.runs[i + 1].digest);
        for (std::size_t m = 0; m < made.measures.size(); ++m) {
            const double a = made.runs[i].values[m];
            const double b = made.runs[i + 1].values[m];
            EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << made.measures[m].name;
        }
    }
}

TEST_F(CompareTest, MeasuresWhatJobsWaitFor) {
    const auto made = compared(plan({"backoff_base=1s"}));
    ASSERT_TRUE(made.complete);
    for (std::size_t run = 0; run < made.runs.size(); ++run) {
        EXPECT_TRUE(made.runs[run].passed) << made.runs[run].problem;
        EXPECT_GT(value(made, run, "submit_to_terminal.mean"), value(made, run, "submit_to_dispatch.mean"));
        EXPECT_GE(value(made, run, "submit_to_terminal.max"), value(made, run, "submit_to_terminal.p50"));
        EXPECT_GE(value(made, run, "attempts_per_job.mean"), 1);
        EXPECT_GT(value(made, run, "waiting.its_turn"), 0);
        EXPECT_GT(value(made, run, "redis_commands_per_job"), 5);
        EXPECT_GE(value(made, run, "policy_questions_per_job"), 1);
        EXPECT_EQ(value(made, run, "jobs_not_ended"), 0);
    }
    ASSERT_FALSE(made.distributions.empty());
    EXPECT_DOUBLE_EQ(made.distributions.front().points.back().second, 1.0);
    EXPECT_EQ(made.courses.size(), 1U);
}

TEST_F(CompareTest, DoesNotDependOnTheNumberOfThreads) {
    const ComparisonPlan two = plan({"backoff_base=200ms,5s"});
    CompareOptions alone;
    CompareOptions crowd;
    crowd.threads = 4;
    const auto a = compared(two, alone);
    const auto b = compared(two, crowd);
    ASSERT_EQ(a.runs.size(), b.runs.size());
    for (std::size_t i = 0; i < a.runs.size(); ++i) EXPECT_EQ(a.runs[i].digest, b.runs[i].digest);
}

TEST_F(CompareTest, ShardsAreTheWholeWithoutOverlap) {
    const ComparisonPlan two = plan({"backoff_base=200ms,5s"});
    std::set<std::pair<std::size_t, std::uint64_t>> seen;
    for (std::uint64_t shard = 0; shard < 2; ++shard) {
        CompareOptions options;
        options.shard = {shard, 2};
        for (const auto& run : compared(two, options).runs) EXPECT_TRUE(seen.insert({run.variant, run.seed}).second);
    }
    EXPECT_EQ(seen.size(), 6U);
}

TEST_F(CompareTest, LeavesOutWhatHasBeenRun) {
    CompareOptions options;
    options.done = {{0, 1}, {0, 2}};
    const auto made = compared(plan({"backoff_base=200ms,5s"}), options);
    ASSERT_EQ(made.runs.size(), 2U);
    EXPECT_EQ(made.runs[0].seed, 3U);
}

TEST_F(CompareTest, RefusesAFaultThatIsPlacedOnAnEvent) {
    ComparisonPlan with =
        plan({"backoff_base=1s"}, R"({"on": {"event": "job_started"}, "do": "crash", "target": "scheduler-1"})");
    const auto refused = load_worlds(with);
    ASSERT_FALSE(refused);
    EXPECT_THAT(to_string(refused.error().front()), HasSubstr("at /faults/0: expected faults that are placed in time"));
    with.event_faults = true;
    const auto let = load_worlds(with);
    ASSERT_TRUE(let);
    ASSERT_EQ(let->not_shared.size(), 1U);
    EXPECT_THAT(let->not_shared.front(), HasSubstr("crash"));
}

TEST_F(CompareTest, SaysOnceWhatIsWrongWithASetting) {
    const auto refused = load_worlds(plan({"backof_base=1s,2s"}));
    ASSERT_FALSE(refused);
    EXPECT_THAT(to_string(refused.error().front()), HasSubstr("backoff_base"));
}

}  // namespace
}  // namespace lockstep::sim
