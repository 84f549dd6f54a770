// What a selection of simulated runs came to, as plain data: the command line fills it, the writers beside it render it.
// It knows nothing of the simulator, so that a report can be read, joined and rendered without one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::reports {

/// One thing that happened: what a violation points at.
struct Fact {
    std::uint64_t event = 0;  // its number in the run, from 1; 0 = unknown
    std::int64_t at_ns = 0;   // virtual time since the start of the run
    std::string node;         // empty when it happened at no single node
    std::string what;         // in a few words; empty unless the run was recorded
};

/// An invariant that did not hold.
struct Violation {
    std::string invariant;
    std::int64_t at_ms = 0;                    // virtual time since the start of the run
    std::string node;                          // empty when no single node is to blame
    std::string job;                           // empty when it concerns no single job
    std::string detail;                        // one sentence
    std::vector<std::string> story;            // the events that led to it, oldest first, one per line
    Fact fact{};                               // the event at which it was found
    std::optional<Fact> earlier{};             // the event that it contradicts, where the invariant knows it
    bool at_rest = false;                      // found by looking at what was left at the end, not in an event
    std::vector<std::string> circumstances{};  // the holder of the lock, clocks, faults in force: a line each
    std::string paragraph{};  // of the documents, that says what should have happened; empty: none does
};

/// One expectation of the scenario file, as written, and what was found.
struct ExpectationOutcome {
    std::string expected;
    std::string actual;
    bool held = false;
    bool too_few = false;   // more of it would have held
    std::string pointer{};  // JSON pointer in the scenario file
    std::string job{};      // one that shows that it did not hold; empty: it held, or is about no job
    std::string
        jobs_of{};         // the same: it is about those whose ids begin with this, jobs of a workflow run or of a step
    std::string others{};  // what the other jobs became, where it is about a number of jobs: "30 FAILED, 2 TIMEOUT"
};

/// "expected SUCCEEDED 6, got 5 (and 1 FAILED)".
[[nodiscard]] std::string missed_text(const ExpectationOutcome& outcome);

struct FaultCount {
    std::string kind;             // the name after "do"
    std::string pointer;          // JSON pointer in the scenario file; empty for one that chaos drew
    std::uint64_t armed = 0;      // it was in force, or waited for its event
    std::uint64_t fired = 0;      // it began
    std::uint64_t effective = 0;  // calls, messages or nodes that it changed
};

/// The verdicts over the histories of single jobs.
struct Histories {
    std::uint64_t held = 0;
    std::uint64_t violated = 0;
    std::uint64_t undecided = 0;  // an operation never got an answer: it may have happened, or not

    Histories& operator+=(const Histories& other) {
        held += other.held;
        violated += other.violated;
        undecided += other.undecided;
        return *this;
    }
};

/// One scenario under one seed.
struct RunRecord {
    std::string file;
    std::string name;
    std::uint64_t seed = 0;
    bool passed = false;
    std::uint64_t digest = 0;
    std::int64_t virtual_ms = 0;
    std::int64_t wall_ms = 0;
    std::uint64_t events = 0;
    std::map<std::string, std::int64_t> states;  // jobs by final state
    std::map<std::string, std::int64_t> runs{};  // of workflows, by final status
    std::map<std::string, double> metrics;       // name{labels}:statistic
    std::vector<Violation> violations;
    std::vector<ExpectationOutcome> expectations;
    std::vector<FaultCount> faults;
    std::map<std::string, std::uint64_t> exercised;  // by invariant: how often its precondition held
    Histories histories;
    std::vector<std::string> without;              // mechanisms that were switched off
    std::map<std::string, std::uint64_t> reached;  // marks passed, with counts
    std::string error;                             // what broke in the harness itself; empty = nothing
    bool crashed = false;                          // the process did not survive it: `error` says what killed it
    std::string replay;                            // the command that runs exactly this again
};

struct RunReport {
    std::vector<RunRecord> results;
    std::vector<std::string> vacuous;    // what the selection left unproved, one sentence each
    std::vector<std::string> unreached;  // rare branches that no run passed
    std::string build{};                 // of the program that made the runs
    std::string incomplete{};            // why runs are missing that were to be made; empty = none is
    int exit = 0;                        // the exit code of the command
    std::string verdict{};               // its word: PASSED
};

/// As reports show it: 16 hexadecimal digits.
[[nodiscard]] std::string digest_text(std::uint64_t digest);

}  // namespace lockstep::reports
