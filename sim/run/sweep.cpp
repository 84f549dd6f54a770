#include "sim/run/sweep.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>

#include "sim/run/side_by_side.h"

namespace lockstep::sim {

namespace {

bool failed(const RunResult& result) { return !result.interrupted && (!result.passed || !result.error.empty()); }

RunResult guarded(const Runner& runner, const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
    RunResult result;
    try {
        result = runner(scenario, seed, options);
    } catch (const std::exception& error) {
        result.error = error.what();
    } catch (...) {
        result.error = "an exception of an unknown type";
    }
    if (!result.error.empty()) result.passed = false;
    result.file = scenario.file;
    result.name = scenario.name;
    result.seed = seed;
    return result;
}

/// What the threads share: the next run to take, and where results go.
class Pool {
public:
    Pool(std::span<const Scenario> scenarios, std::span<const PlannedRun> plan, const Runner& runner,
         const SweepOptions& options)
        : scenarios_(scenarios), plan_(plan), runner_(runner), options_(options), results_(plan.size()) {}

    void work() {
        while (!stopped()) {
            const std::size_t index = next_.fetch_add(1);
            if (index >= plan_.size()) return;
            const PlannedRun& run = plan_[index];
            if (options_.on_start) options_.on_start(run);
            RunResult result = guarded(runner_, scenarios_[run.scenario], run.seed, options_.run);
            const std::lock_guard lock(mutex_);
            if (options_.fail_fast && failed(result)) given_up_ = true;
            results_[index] = std::move(result);
            if (options_.on_result) options_.on_result(run, *results_[index]);
        }
    }

    SweepOutcome outcome() {
        SweepOutcome outcome;
        outcome.interrupted = interrupted();
        for (std::size_t i = 0; i < results_.size(); ++i) {
            if (!results_[i]) continue;
            outcome.runs.push_back(plan_[i]);
            outcome.results.push_back(std::move(*results_[i]));
        }
        return outcome;
    }

private:
    [[nodiscard]] bool interrupted() const { return options_.run.stop != nullptr && options_.run.stop->load(); }
    [[nodiscard]] bool stopped() const { return given_up_ || interrupted(); }

    const std::span<const Scenario> scenarios_;
    const std::span<const PlannedRun> plan_;
    const Runner& runner_;
    const SweepOptions& options_;
    std::atomic<std::size_t> next_ = 0;
    std::atomic<bool> given_up_ = false;
    std::mutex mutex_;                               // guards what follows
    std::vector<std::optional<RunResult>> results_;  // never resized: callbacks keep pointers into it
};

}  // namespace

std::vector<PlannedRun> plan_runs(std::span<const Scenario> scenarios, const std::uint64_t* first_seed,
                                  std::uint64_t seeds) {
    std::vector<PlannedRun> plan;
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
        if (scenarios[i].counterexample) {
            plan.push_back({i, scenarios[i].seed});
            continue;
        }
        const std::uint64_t first = first_seed == nullptr ? scenarios[i].seed : *first_seed;
        for (std::uint64_t n = 0; n < seeds; ++n) plan.push_back({i, first + n});
    }
    return plan;
}

SweepOutcome sweep(std::span<const Scenario> scenarios, std::span<const PlannedRun> plan, const Runner& runner,
                   const SweepOptions& options) {
    Pool pool(scenarios, plan, runner, options);
    side_by_side(std::min<std::size_t>(options.threads, plan.size()), [&pool] { pool.work(); });
    return pool.outcome();
}

}  // namespace lockstep::sim
