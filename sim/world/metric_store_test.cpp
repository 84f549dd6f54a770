#include "sim/world/metric_store.h"

#include <gmock/gmock.h>

#include "sim/testing/simulation_fixture.h"

namespace lockstep::sim {
namespace {

using engine::Metric;
using ::testing::Optional;

constexpr std::string_view kReceived = "cordum_scheduler_jobs_received_total";
constexpr std::string_view kLatency = "cordum_scheduler_scheduler_dispatch_latency_seconds";
constexpr std::string_view kActive = "cordum_scheduler_scheduler_active_goroutines";

class MetricsTest : public testing::SimulationTest {
protected:
    std::optional<double> value(std::string_view metric, std::string_view statistic = {},
                                const std::map<std::string, std::string>& labels = {}) {
        return sim.metric_store().value(metric, labels, statistic);
    }
};

TEST_F(MetricsTest, AddsCountersOverNodesAndRestarts) {
    sim.metrics(scheduler).add(Metric::jobs_received, {"job.a"});
    sim.metrics(other).add(Metric::jobs_received, {"job.a"}, 2);
    sim.metrics(other).add(Metric::jobs_received, {"job.b"}, 10);
    crash(scheduler);
    sim.lifecycle().restart(scheduler);
    sim.metrics(scheduler).add(Metric::jobs_received, {"job.a"});
    EXPECT_THAT(value(kReceived), Optional(14));
    EXPECT_THAT(value(kReceived, "", {{"topic", "job.a"}}), Optional(4));
    EXPECT_THAT(value(kReceived, "max"), Optional(10));
}

TEST_F(MetricsTest, GivesExactPercentiles) {
    for (int i = 1; i <= 200; ++i) sim.metrics(scheduler).observe(Metric::dispatch_latency, i, {"job.a"});
    EXPECT_THAT(value(kLatency, "p50"), Optional(100));
    EXPECT_THAT(value(kLatency, "p99"), Optional(198));
    EXPECT_THAT(value(kLatency, "max"), Optional(200));
    EXPECT_THAT(value(kLatency, "count"), Optional(200));
    EXPECT_THAT(value(kLatency, "sum"), Optional(20100));
}

TEST_F(MetricsTest, HasNoValueWithoutASample) {
    EXPECT_EQ(value(kLatency, "p99"), std::nullopt);
    EXPECT_EQ(value("no_such_metric"), std::nullopt);
    sim.metrics(scheduler).add(Metric::jobs_received, {"job.a"});
    EXPECT_EQ(value(kReceived, "", {{"topic", "job.z"}}), std::nullopt);
    EXPECT_EQ(value(kReceived, "", {{"no_such_label", "job.a"}}), std::nullopt);
}

TEST_F(MetricsTest, ForgetsTheGaugesOfANodeThatGoesDown) {
    sim.metrics(scheduler).set(Metric::active_handlers, 5);
    sim.metrics(other).set(Metric::active_handlers, 2);
    EXPECT_THAT(value(kActive), Optional(7));
    crash(scheduler);
    EXPECT_THAT(value(kActive), Optional(2));
}

TEST_F(MetricsTest, SummarisesEverySeriesByItsFullName) {
    sim.metrics(scheduler).add(Metric::jobs_received, {"job.a"}, 3);
    sim.metrics(scheduler).observe(Metric::dispatch_latency, 0.5, {"job.a"});
    const auto summary = sim.metric_store().summary();
    EXPECT_EQ(summary.at("cordum_scheduler_jobs_received_total{topic=\"job.a\"}"), 3);
    EXPECT_EQ(summary.at("cordum_scheduler_scheduler_dispatch_latency_seconds{topic=\"job.a\"}:p99"), 0.5);
}

}  // namespace
}  // namespace lockstep::sim
