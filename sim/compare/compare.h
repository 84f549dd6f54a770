// Runs every variant of a comparison in the same worlds under the same seeds, and gathers what was measured.
//
// 1. Runs share their seeds, and what is drawn in them is drawn for what it belongs to (fakes/rng.h): arrivals, faults placed in
//    time, and how try n of a job goes and how long it takes are the same in all variants.
// 2. The result depends on the plan alone, not on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "reports/compare/comparison.h"
#include "sim/compare/comparison_file.h"
#include "sim/compare/worlds.h"
#include "sim/run/shard.h"
#include "sim/run/sweep.h"

namespace lockstep::sim {

struct CompareOptions {
    unsigned threads = 1;
    /// Of the pairs of scenario and seed.
    Shard shard{};
    /// Pairs of scenario and seed that have been run before, in every variant, and are left out.
    std::set<std::pair<std::size_t, std::uint64_t>> done;
    const std::atomic<bool>* stop = nullptr;  // as in RunOptions
    std::function<void(const PlannedRun&)> on_start;
    std::function<void(const PlannedRun&, const RunResult&)> on_result;
};

/// How many runs that is.
[[nodiscard]] std::size_t count_runs(const ComparisonPlan& plan, const ComparedWorlds& worlds,
                                     const CompareOptions& options);

/// `complete` is false when it was stopped: then it has the pairs of scenario and seed that were run in every variant. Version and
/// command are left to the caller.
[[nodiscard]] reports::Comparison compare(const ComparisonPlan& plan, const ComparedWorlds& worlds,
                                          const Runner& runner, const CompareOptions& options);

}  // namespace lockstep::sim
