// Puts a fault on every call that a scenario's schedulers make, one run for each call and outcome, and then on pairs of them:
// what sampling may miss for years is here made once. Which calls there are is read off a fault-free run, so that a call that
// is new in the engine is covered from its first day, or shows up as one that cannot be.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/run/result.h"
#include "sim/search/failure.h"

namespace lockstep::sim {

enum class CallFate : std::uint8_t {
    not_applied,   // it fails and changes nothing
    unknown,       // it takes effect and its answer is lost
    lost,          // it is lost on its way, which looks the same to its caller
    crash_before,  // the caller dies before the call leaves it
    crash_after,   // ... after it took effect
    late,          // the answer arrives after more than a lock lives
    restarted,     // it takes effect, and its server is restarted before the answer
    power_cut,     // ... and its server loses its power, and what it had not synced, before the answer
};
inline constexpr std::array kCallFates{CallFate::not_applied,  CallFate::unknown,     CallFate::lost,
                                       CallFate::crash_before, CallFate::crash_after, CallFate::late,
                                       CallFate::restarted,    CallFate::power_cut};
[[nodiscard]] std::string_view to_string(CallFate fate);

/// "redis commit", "publish worker.*.jobs".
[[nodiscard]] std::string name_of(const CallSite& site);

/// Whether such a call can come to such an end at all: a policy check has no effect that could be lost.
[[nodiscard]] bool possible(const CallSite& site, CallFate fate);
/// The faults that bring it about at the nth call. REQUIRES: possible.
[[nodiscard]] std::vector<Document> faults_of(const CallSite& site, CallFate fate, int nth, Duration late_by);

struct CallCoverage {
    std::uint64_t runs = 0;
    std::uint64_t effective = 0;  // runs in which the fault changed something
    std::uint64_t failures = 0;
};

struct EnumerateOptions {
    int occurrences = 5;      // of each call, spread over the run: the first ones and some of the rest
    std::uint64_t pairs = 0;  // runs with two faults, drawn
    unsigned threads = 1;
    const std::atomic<bool>* stop = nullptr;
    /// After each run, one at a time; `found` is null unless a new kind of failure was found.
    std::function<void(std::uint64_t done, std::uint64_t planned, const Failure* found)> on_run;
};

struct EnumerateOutcome {
    std::vector<CallSite> sites;
    std::map<std::string, std::array<CallCoverage, kCallFates.size()>> table;  // by name of the site
    CallCoverage pairs;
    std::map<std::string, Failure> failures;  // the first of each kind, by signature
    std::string error;                        // why there was nothing to enumerate; empty = there was
    bool interrupted = false;
};

/// The scenario's own faults, chaos and expectations are left out: all invariants are watched.
[[nodiscard]] EnumerateOutcome enumerate(const Document& scenario, const Runner& runner,
                                         const EnumerateOptions& options);

}  // namespace lockstep::sim
