// Reduces a failing scenario to the smallest one that still fails in the same way: fewer jobs, replicas, workers, faults,
// shorter times, changed settings. The result is an ordinary scenario with a description of its own that passes once the bug is
// fixed; what counts as the same failure says same_failure.h.
//
// What is taken away shifts everything that is drawn after it, so that a failure may vanish by chance. Hence three rounds: under
// the seed of the failure, then under a few others, too, and at last with what merely makes the file read well. The seed that
// fails becomes that of the result.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "sim/run/result.h"
#include "sim/scenario/document.h"

namespace lockstep::sim {

/// What a reduced scenario is made of; each reduction makes it smaller in this order of importance.
struct ScenarioSize {
    std::int64_t jobs = 0;  // that clients submit
    std::int64_t runs = 0;  // of workflows
    std::int64_t replicas = 0;
    std::int64_t workers = 0;
    std::int64_t faults = 0;
    std::int64_t settings = 0;  // tunables and other members of `cluster` that the file sets
    friend bool operator==(const ScenarioSize&, const ScenarioSize&) = default;
};
[[nodiscard]] ScenarioSize size_of(const Scenario& scenario, const Document& document);
/// "3 jobs, 1 replica, 1 worker, 2 faults"; runs where there are any.
[[nodiscard]] std::string to_string(const ScenarioSize& size);

struct ShrinkOptions {
    std::uint64_t max_runs = 10000;
    const std::atomic<bool>* stop = nullptr;
    /// After each scenario tried: what is left now, and the runs made so far.
    std::function<void(const ScenarioSize&, std::uint64_t runs)> on_progress;
};

struct Shrunk {
    Document scenario;  // its seed is in it; expects the violated invariant to hold, and no more
    RunResult result;   // of it
    ScenarioSize before;
    ScenarioSize after;
    std::uint64_t runs = 0;
    bool complete = false;  // nothing more can be taken away: shrinking it again changes nothing. Else the best so far
    std::string error;      // why there was nothing to shrink; empty = it has been shrunk
};

/// `signature` as `signature_of` gives it; empty = that of the first run. Chaos is drawn first, so that it can be taken apart.
[[nodiscard]] Shrunk shrink(Document document, std::uint64_t seed, std::string signature, const Runner& runner,
                            const ShrinkOptions& options);

}  // namespace lockstep::sim
