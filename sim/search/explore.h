// Looks for failures in scenarios that nobody wrote: draws, runs, tells the failures apart, keeps the shortest of each kind.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/result.h"
#include "sim/search/draw.h"
#include "sim/search/failure.h"

namespace lockstep::sim {

struct ExploreProgress {
    std::uint64_t runs = 0;
    std::uint64_t failures = 0;    // runs that failed
    std::uint64_t signatures = 0;  // different kinds of failure
    std::uint64_t events = 0;
    std::int64_t virtual_ms = 0;
    std::size_t histories = 0;  // different digests
    std::uint64_t next = 1;     // where to go on: every draw below has been made
};

struct ExploreOptions {
    DrawOptions draw;
    std::uint64_t first = 1;            // number of the first draw
    std::uint64_t seeds = 0;            // draws to make; 0 = no limit
    std::chrono::milliseconds wall{0};  // no draw is begun after this; 0 = no limit
    bool keep_going = false;            // else the first failure ends it
    unsigned threads = 1;
    /// Draws that failed once: they come first, whatever `first` says.
    std::vector<std::uint64_t> regressions;
    const std::atomic<bool>* stop = nullptr;
    /// After each run, one at a time. `found` is null unless the run failed in a way that is new, or shorter than before.
    std::function<void(const ExploreProgress&, const Failure* found)> on_run;
    std::function<void(std::uint64_t draw)> on_start;  // on the thread of the run
};

struct ExploreOutcome {
    ExploreProgress total;
    /// The shortest of each kind (by events), by signature.
    std::map<std::string, Failure> failures;
    std::map<std::string, std::uint64_t> counts;        // runs that failed, by signature
    std::map<std::string, reports::FaultCount> faults;  // by kind, added up
    std::map<std::string, std::uint64_t> exercised;     // by invariant, added up
    std::map<std::string, std::uint64_t> reached;
    std::uint64_t next = 1;     // where to go on; every draw below has been made
    std::uint64_t refused = 0;  // draws that the loader would not take: they prove nothing
    bool interrupted = false;
};

[[nodiscard]] ExploreOutcome explore(const Runner& runner, const ExploreOptions& options);

}  // namespace lockstep::sim
