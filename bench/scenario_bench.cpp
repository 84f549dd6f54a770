// Whole simulated runs: events per second, and virtual against wall time.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace {

using namespace lockstep::sim;

constexpr const char* kThreeReplicas = R"({
  "name": "bench", "duration": "15m",
  "cluster": { "schedulers": 3,
               "workers": [ { "id": "w", "count": 20, "service_time": { "dist": "exp", "mean": "1s" } } ] },
  "load": [ { "at": "2s", "topic": "job.default", "count": 500, "rate": "50/s" } ]
})";

void ThreeReplicasFiveHundredJobs(benchmark::State& state) {
    const auto scenario = parse_scenario(kThreeReplicas, "bench.json");
    if (!scenario) {
        state.SkipWithError("the scenario of this benchmark does not load");
        return;
    }
    std::uint64_t seed = 0;
    std::int64_t events = 0;
    std::int64_t virtual_ms = 0;
    for (auto _ : state) {
        const RunResult result = run_scenario(*scenario, ++seed, RunOptions{});
        if (!result.passed) {
            state.SkipWithError("a run failed");
            return;
        }
        events += static_cast<std::int64_t>(result.events);
        virtual_ms += result.virtual_ms;
    }
    state.counters["events_per_second"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
    state.counters["virtual_per_wall"] =
        benchmark::Counter(static_cast<double>(virtual_ms) / 1000.0, benchmark::Counter::kIsRate);
}
BENCHMARK(ThreeReplicasFiveHundredJobs)->Unit(benchmark::kMillisecond);

}  // namespace
