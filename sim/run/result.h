// What one simulated run hands back, and how it is asked for. `run_scenario` fills it; the sweep adds many of them up;
// the command line prints them. Nothing in it refers to the world that produced it.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/atomic_file.h"
#include "reports/run_report.h"
#include "sim/explain/history.h"
#include "sim/explain/world_dump.h"
#include "sim/run/corruption.h"
#include "sim/scenario/scenario.h"
#include "sim/world/recorded_event.h"

namespace lockstep::sim {

struct MeasuredRun;
class Rules;

using reports::ExpectationOutcome;
using reports::FaultCount;
using reports::Violation;

/// One kind of call that a scheduler makes to the outside, and how often a run made it. Of a call to Redis the script, or else
/// the command; of one on the bus the subject, workers' subjects as one.
struct CallSite {
    fakes::EventKind event{};
    std::string script;
    std::string command;
    std::string subject;
    int count = 0;
    friend auto operator<=>(const CallSite&, const CallSite&) = default;
};

/// What has become of a job that did not succeed.
struct JobEnd {
    std::string job;
    std::string state;   // empty: Redis does not know it
    std::string reason;  // empty: its record gives none
};

/// An invariant that a program adds to Lockstep's; its rules are made anew for each run (sim/judge/rules.h). Every run judges it, whatever
/// invariants its file names. Its name is not one of Lockstep's, which is not checked.
struct OwnInvariant {
    std::string name;
    void (*make)(Rules& rules, const engine::Tunables& tunables) = nullptr;
};

struct RunOptions {
    /// Where every event goes as one JSON line; null = nowhere. The file is the run's own, no other run may share it, and its owner
    /// finishes it after the run.
    reports::AtomicFile* trace = nullptr;
    /// Its first line; empty = it begins with the events.
    std::string trace_heading{};
    /// Fill `RunResult::recorded`.
    Recording record{};
    /// Fill `RunResult::calls`.
    bool calls = false;
    /// Fill `RunResult::dumps`, and end the run with the last of them: the numbers of events, ascending. Such a run is not
    /// judged.
    std::vector<std::uint64_t> dump_at;
    /// Fill `RunResult::history`.
    bool history = false;
    /// Fill `RunResult::measured`.
    bool measure = false;
    /// Tell the story of the first violation. The run is made a second time for it: whoever only asks whether a run fails, and
    /// how, switches it off.
    bool explain = true;
    /// Invariants are judged; else none is broken or put to the test, and the rest of the run is the same. For measuring what it costs.
    bool judge = true;
    /// Fill `RunResult::outputs`.
    bool outputs = false;
    /// The judge is shown the run with this in it; null: as it is. Outlives the run.
    const Corruption* corruption = nullptr;
    /// They are judged by what real servers would show of the run.
    bool from_outside = false;
    /// Judged besides Lockstep's own.
    std::vector<OwnInvariant> rules;
    /// Set from outside to end the run early; null = never. May be read from the run's thread at any time.
    const std::atomic<bool>* stop = nullptr;
    /// Of real time, after which the run is ended early; 0 = none.
    std::chrono::nanoseconds time_limit{};
};

struct RunResult {
    std::string file;
    std::string name;
    std::uint64_t seed = 0;
    /// Every invariant that was to hold held, the ones that were to be violated were, and every expectation held.
    bool passed = false;
    std::uint64_t digest = 0;
    std::int64_t virtual_ms = 0;
    std::int64_t wall_ms = 0;
    std::uint64_t events = 0;
    std::map<std::string, std::int64_t> states;  // jobs by final state
    std::map<std::string, std::int64_t> runs;    // of workflows, by final status
    std::map<std::string, double> metrics;       // name{labels}:statistic
    std::vector<Violation> violations;           // those that a counterexample asked for included
    std::vector<std::string> nodes;  // names of all, when something was violated: its sentence may name some
    std::vector<ExpectationOutcome> expectations;
    std::vector<FaultCount> faults;                  // in the order of the file, then those of chaos
    std::map<std::string, std::uint64_t> exercised;  // by invariant; one that was checked but never applied has 0
    std::set<std::string> unjudged;                  // jobs that were submitted and put no invariant to the test
    reports::Histories histories;
    std::map<std::string, std::uint64_t> reached;
    /// What this run left unproved that only it can know, such as a metric of an expectation that never had a sample. A
    /// sentence that every seed of a file repeats word for word is reported by the sweep. Faults, invariants and
    /// `sometimes` marks need not be listed: the sweep judges them from the counts above.
    std::vector<std::string> vacuous;
    /// What people decided, and nothing came of it: "the approval of job-1". Not where the file expects events of the kind.
    std::vector<std::string> in_vain;
    /// The hashes of all events, or one event; only when asked for.
    Recorded recorded;
    /// The calls of the schedulers; only when asked for.
    std::vector<CallSite> calls;
    /// Of the events that were asked for, those that the run came to.
    std::vector<WorldDump> dumps;
    /// Everything that happened; only when asked for.
    std::shared_ptr<const History> history;
    /// Jobs that did not succeed; only with a history.
    std::vector<JobEnd> bad_ends;
    /// What was measured; only when asked for.
    std::shared_ptr<const MeasuredRun> measured;
    /// Of schedulers and workflow engines, with some of their values; only when asked for.
    OutputsSeen outputs;
    int corrupted = 0;         // how often `RunOptions::corruption` was done
    std::string error;         // what broke in the harness itself; empty = nothing. Such a run has not passed.
    bool interrupted = false;  // ended early: counts as neither passed nor failed
    bool out_of_time = false;  // for `RunOptions::time_limit`, and not for `stop`
};

/// Runs one scenario under one seed. REQUIRES: safe to call from several threads at once; must not throw.
using Runner = std::function<RunResult(const Scenario&, std::uint64_t seed, const RunOptions&)>;

}  // namespace lockstep::sim
