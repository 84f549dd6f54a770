// How strong the search is, as a number: each protective mechanism is switched off in turn, and draws that know nothing of it are
// made until one of them fails. Says which invariant noticed, after how many draws, and how small the failure becomes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/result.h"
#include "sim/search/shrink.h"

namespace lockstep::sim {

struct MechanismPower;

struct PowerOptions {
    std::vector<std::string> mechanisms;  // in this order
    std::uint64_t first = 1;              // number of the first draw of the first search
    std::uint64_t seeds = 1000;  // draws at most in one search; searches use ranges of this size, one after the other
    std::uint64_t repeats = 3;   // searches for each mechanism
    unsigned threads = 1;
    std::uint64_t breadth = 0;  // draws of the first range to make past the first failure, to see what else notices
    bool shrink = true;         // the first failure of each mechanism, twice: the second time must change nothing
    const std::atomic<bool>* stop = nullptr;
    std::function<void(const MechanismPower&)> on_measured;
    /// What is being done, for a person who waits.
    std::function<void(const std::string&)> on_progress;
};

/// One search, from its first draw to the first that failed.
struct PowerSearch {
    std::uint64_t first = 0;
    std::uint64_t draws = 0;  // made until then, that one included; does not depend on threads
    double seconds = 0;       // of wall time; depends on the machine
    std::string invariant;    // empty = nothing failed
    std::uint64_t draw = 0;   // its number
    [[nodiscard]] bool found() const { return !invariant.empty(); }
};

struct MechanismPower {
    std::string mechanism;
    std::vector<PowerSearch> searches;
    std::map<std::string, std::uint64_t> noticed;  // by invariant: searches and draws of the breadth that it ended
    std::optional<ScenarioSize> before;            // of the first failure
    std::optional<ScenarioSize> shrunk;
    bool shrinks_once = false;  // shrinking it again changed nothing
    std::string shrink_error;
    Document smallest;  // the scenario that is left
    /// Of the searches that found something; a search that found nothing counts as all its draws.
    [[nodiscard]] double median_draws() const;
    [[nodiscard]] double median_seconds() const;
    [[nodiscard]] bool always_found() const;
};

struct PowerOutcome {
    std::vector<MechanismPower> mechanisms;
    bool interrupted = false;
};

[[nodiscard]] PowerOutcome measure_power(const Runner& runner, const PowerOptions& options);

/// The middle one, or the mean of the two in the middle; 0 of nothing.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace lockstep::sim
