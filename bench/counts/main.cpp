// count_run WHAT JOBS: makes one simulated run and prints what it took, as one JSON object of whole numbers. check.py compares
// them with what is kept. WHAT is
//
//   traffic      what the schedulers exchange with the servers: the same on every machine and in every build
//   allocations  what a run with its judgement takes from `operator new`
//   work         nothing: for valgrind, which counts while counted_work is on the stack
//   unjudged     the same of the run without its judgement
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/counts/allocations.h"
#include "bench/counts/three_replicas.h"
#include "bench/counts/traffic.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace {

using namespace lockstep;

using Counts = std::map<std::string, std::uint64_t>;

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kWrongUse = 2;
constexpr std::uint64_t kSeed = 1;
/// Fills what the process keeps from run to run: compiled scripts, pools, descriptors of messages.
constexpr int kJobsBefore = 20;

sim::Scenario scenario_of(int jobs) {
    auto scenario = sim::parse_scenario(bench::three_replicas(jobs), "three-replicas.json");
    if (!scenario) throw std::runtime_error(sim::to_string(scenario.error().front()));
    return *std::move(scenario);
}

void run(const sim::Scenario& scenario, bool judge = true) {
    const sim::RunResult result = sim::run_scenario(scenario, kSeed, {.judge = judge});
    if (result.passed) return;
    throw std::runtime_error(result.error.empty() ? "the run did not pass" : result.error);
}

Counts count_allocations(int jobs) {
    run(scenario_of(kJobsBefore));
    const sim::Scenario scenario = scenario_of(jobs);
    const bench::Allocations before = bench::allocations_so_far();
    run(scenario);
    const bench::Allocations after = bench::allocations_so_far();
    return {{"allocations", after.calls - before.calls}, {"bytes", after.bytes - before.bytes}};
}

void print(const Counts& counts) {
    std::string members;
    for (const auto& [name, count] : counts)
        members += fmt::format("{}\"{}\": {}", members.empty() ? "" : ", ", name, count);
    fmt::print("{{{}}}\n", members);
}

}  // namespace

/// Found by valgrind by this name.
extern "C" [[gnu::noinline]] void counted_work(const sim::Scenario& scenario, bool judge) { run(scenario, judge); }

int main(int argc, char** argv) {
    const std::string_view what = argc == 3 ? argv[1] : "";
    const std::string_view text = argc == 3 ? argv[2] : "";
    int jobs = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
    const bool number = error == std::errc{} && end == text.data() + text.size() && jobs > 0 && jobs <= 100'000;
    constexpr std::string_view kKnown[] = {"traffic", "allocations", "work", "unjudged"};
    if (!number || std::ranges::find(kKnown, what) == std::end(kKnown)) {
        fmt::print(stderr, "usage: count_run {} JOBS (1 to 100000)\n", fmt::join(kKnown, "|"));
        return kWrongUse;
    }
    try {
        if (what == "traffic") {
            print(bench::count_traffic(scenario_of(jobs), kSeed, static_cast<std::uint64_t>(jobs)));
        } else if (what == "allocations") {
            print(count_allocations(jobs));
        } else {
            run(scenario_of(kJobsBefore));
            counted_work(scenario_of(jobs), what == "work");
        }
        return kOk;
    } catch (const std::exception& error) {
        fmt::print(stderr, "count_run: {}\n", error.what());
        return kFailed;
    }
}
