// Runs many simulations, each on one thread, several at once, and adds up what they left unproved. It knows the runs only
// as a function, so that everything around them can be tested without a world.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/run/result.h"

namespace lockstep::sim {

/// One run to make: which scenario of the selection, under which seed.
struct PlannedRun {
    std::size_t scenario = 0;
    std::uint64_t seed = 0;
};

struct SweepOptions {
    unsigned threads = 1;
    bool fail_fast = false;  // start nothing more once a run has failed
    RunOptions run;          // for every run; its `stop` also keeps the sweep from starting more
    /// On the thread of the run, before it starts.
    std::function<void(const PlannedRun&)> on_start;
    /// After each run, one at a time; the result stays where it is until the sweep returns.
    std::function<void(const PlannedRun&, const RunResult&)> on_result;
};

struct SweepOutcome {
    /// In the order of the plan, without those that were never started. The interrupted ones are among them.
    std::vector<RunResult> results;
    std::vector<PlannedRun> runs;  // what each result belongs to
    bool interrupted = false;
};

/// Every scenario under `seeds` consecutive seeds, from its own or from `first_seed`; the second half of one that proves
/// something only under the seed of its file, for which the file promises it.
[[nodiscard]] std::vector<PlannedRun> plan_runs(std::span<const Scenario> scenarios, const std::uint64_t* first_seed,
                                                std::uint64_t seeds);

/// An exception of the runner becomes the error of its run.
[[nodiscard]] SweepOutcome sweep(std::span<const Scenario> scenarios, std::span<const PlannedRun> plan,
                                 const Runner& runner, const SweepOptions& options);

/// What one file left unproved over all its seeds: faults that never took effect, named invariants whose precondition
/// never held, jobs that no invariant has judged where it asks for all of them, `sometimes` marks that nothing reached, and what
/// every one of its runs says. Empty when a run failed or was interrupted: then there is something else to look at first.
[[nodiscard]] std::vector<std::string> unproved_of_file(const Scenario& scenario,
                                                        std::span<const RunResult* const> results);

/// The invariants that none of these runs put to the test, of a selection that is meant to put each to the test. Empty when a run failed.
[[nodiscard]] std::vector<std::string> unproved_of_selection(const SweepOutcome& outcome);

/// The rare branches of the engine that none of these runs reached.
[[nodiscard]] std::vector<std::string> unreached_branches(std::span<const RunResult> results);

}  // namespace lockstep::sim
