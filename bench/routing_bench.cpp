// Choosing a worker among ten thousand, and what a heartbeat of one of them takes.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <vector>

#include "engine/routing/pick.h"
#include "engine/wire/messages.h"

namespace {

using namespace lockstep;

constexpr int kWorkers = 10'000;
constexpr engine::MonoTime kNow{std::chrono::hours{1}};

/// Loads differ, one in a hundred is in the zone "few", and one has the disk "only".
cap::Heartbeat heartbeat_of(int number, int turn) {
    cap::Heartbeat heartbeat;
    heartbeat.set_worker_id(fmt::format("worker-{:05}", number));
    heartbeat.set_pool("default");
    heartbeat.set_active_jobs((number * 7919 + turn) % 16);
    heartbeat.set_max_parallel_jobs(16);
    heartbeat.set_cpu_load(static_cast<float>((number * 31 + turn * 17) % 80));
    auto& labels = *heartbeat.mutable_labels();
    labels["placement.zone"] = number % 100 == 50 ? "few" : "many";
    if (number == kWorkers / 2) labels["node.disk"] = "only";
    return heartbeat;
}

engine::Registry full_registry() {
    engine::Registry registry(std::chrono::seconds{30});
    for (int number = 0; number < kWorkers; ++number) registry.on_heartbeat(heartbeat_of(number, 0), kNow);
    return registry;
}

void choose(benchmark::State& state, const char* label, const char* value) {
    engine::Registry registry = full_registry();
    engine::RoutingTable table;
    table.topics["job.t"] = {"default"};
    const engine::Tunables tunables;
    cap::JobRequest request;
    request.set_topic("job.t");
    if (label != nullptr) (*request.mutable_labels())[label] = value;
    for (auto _ : state) {
        const auto picked = engine::pick_worker(request, table, registry, tunables, kNow);
        if (!picked) return state.SkipWithError(picked.error().detail.c_str());
        benchmark::DoNotOptimize(picked->text().data());
    }
}

void ChooseAmongTenThousand(benchmark::State& state) { choose(state, nullptr, nullptr); }
void ChooseByALabelThatOneInAHundredCarries(benchmark::State& state) { choose(state, "placement.zone", "few"); }
void ChooseByALabelThatOneCarries(benchmark::State& state) { choose(state, "node.disk", "only"); }

/// Counted for the worker and taken back, which moves it twice.
void CountADispatchAndTakeItBack(benchmark::State& state) {
    engine::Registry registry = full_registry();
    std::vector<engine::WorkerId> ids;
    for (int number = 0; number < kWorkers; ++number) ids.emplace_back(fmt::format("worker-{:05}", number));
    std::size_t turn = 0;
    for (auto _ : state) {
        const engine::WorkerId& worker = ids[turn++ * 7919 % ids.size()];
        registry.note_dispatch(worker);
        registry.forget_dispatch(worker);
    }
}

/// Each says something else than before; `0`: the same.
void HearAHeartbeat(benchmark::State& state) {
    engine::Registry registry = full_registry();
    std::vector<cap::Heartbeat> heartbeats;
    for (int turn = 0; turn <= state.range(0); ++turn)
        for (int number = 0; number < kWorkers; ++number)
            heartbeats.push_back(heartbeat_of(number * 7919 % kWorkers, turn));
    std::size_t next = 0;
    for (auto _ : state) registry.on_heartbeat(heartbeats[next++ % heartbeats.size()], kNow);
}

}  // namespace

BENCHMARK(ChooseAmongTenThousand);
BENCHMARK(ChooseByALabelThatOneInAHundredCarries);
BENCHMARK(ChooseByALabelThatOneCarries);
BENCHMARK(CountADispatchAndTakeItBack);
BENCHMARK(HearAHeartbeat)->Arg(0)->Arg(1);
