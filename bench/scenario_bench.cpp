// Whole simulated runs: events per second, and virtual against wall time.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/counts/three_replicas.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"
#include "sim/search/draw.h"

namespace {

using namespace lockstep;
using namespace lockstep::sim;

constexpr const char* kModerateChaos = R"({
  "name": "bench-chaos", "duration": "40m",
  "cluster": { "schedulers": 3,
               "config": { "bus_ack_wait": "1m", "dispatch_timeout": "1m", "running_timeout": "2m" },
               "workers": [ { "id": "w", "count": 8, "service_time": { "dist": "exp", "mean": "2s" } } ] },
  "load": [ { "at": "2s", "topic": "job.default", "count": 200, "rate": "15/m" } ],
  "chaos": { "level": "moderate", "heal_at": "14m" },
  "expect": { "invariants": "all" }
})";

/// Runs the scenario under one seed after the other.
void run(benchmark::State& state, const std::string& text) {
    const auto scenario = parse_scenario(text, "bench.json");
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
    const auto rate = [](double count) { return benchmark::Counter(count, benchmark::Counter::kIsRate); };
    state.counters["events_per_second"] = rate(static_cast<double>(events));
    state.counters["virtual_per_wall"] = rate(static_cast<double>(virtual_ms) / 1000.0);
}

void ThreeReplicasFiveHundredJobs(benchmark::State& state) { run(state, bench::three_replicas(500)); }
BENCHMARK(ThreeReplicasFiveHundredJobs)->Unit(benchmark::kMillisecond);

/// So many jobs; the rate is theirs.
void ThreeReplicas(benchmark::State& state) {
    run(state, bench::three_replicas(static_cast<int>(state.range(0))));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ThreeReplicas)->Arg(10)->Arg(100)->Arg(1'000)->Unit(benchmark::kMillisecond);

/// As `lockstep explore` makes them, one number after the other; some take a hundred times as long as others.
void Draws(benchmark::State& state) {
    std::uint64_t number = 0;
    for (auto _ : state) {
        const Document document = draw_scenario(++number, DrawOptions{});
        const auto scenario = parse_document(document, document["name"].get<std::string>());
        if (!scenario) {
            state.SkipWithError("a draw does not load");
            return;
        }
        benchmark::DoNotOptimize(run_scenario(*scenario, number, RunOptions{}));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Draws)->Unit(benchmark::kMillisecond);

void FifteenMinutesOfModerateChaos(benchmark::State& state) { run(state, kModerateChaos); }
BENCHMARK(FifteenMinutesOfModerateChaos)->Unit(benchmark::kMillisecond);

}  // namespace
