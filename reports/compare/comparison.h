// What a comparison of tunings came to, as plain data: the simulator fills it, the statistics, verdicts and writers of this
// folder read it. It knows nothing of the simulator, so that a comparison can be read from its JSON, joined and rendered
// without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::reports {

/// What is measured of every run.
struct Measure {
    enum class Better : std::uint8_t { lower, higher, neither };

    std::string name;  // "submit_to_terminal.p99"
    std::string unit;  // "ms", "count", "bytes", "ratio"
    Better better = Better::lower;
    std::string about;   // one sentence
    bool guard = false;  // no tuning is recommended that makes it worse, whatever else becomes better
};

/// The first variant is the one that the others are held against.
struct ComparedVariant {
    std::string name;
    std::map<std::string, std::string> settings;
};

struct ComparedScenario {
    std::string file;
    std::string name;
    std::string hash;  // of its content
};

/// One scenario under one seed, with the settings of one variant.
struct ComparedRun {
    std::size_t variant = 0;
    std::size_t scenario = 0;
    std::uint64_t seed = 0;
    std::uint64_t digest = 0;
    bool passed = false;  // invariants and expectations held
    std::string problem;  // the first violation or error, one sentence; empty = none
    std::vector<double>
        values;  // in the order of Comparison::measures; NaN = the run has none (nothing of the kind happened)
};

/// Samples of all runs of a variant, as a cumulative distribution.
struct Distribution {
    std::size_t variant = 0;
    std::string measure;
    std::string unit;
    std::uint64_t samples = 0;
    std::vector<std::pair<double, double>> points;  // value, share of samples <= value; rising, thinned out evenly
};

/// One run through time, for one picture: the same scenario and seed for all variants.
struct Course {
    std::size_t variant = 0;
    double step_ms = 0;
    std::vector<double> backlog;  // jobs waiting, one value per step
    std::vector<double> retries;  // in each step
};

struct FaultBand {
    std::string kind;
    double from_ms = 0;
    double to_ms = 0;
};

/// What better means.
struct Criteria {
    std::vector<std::string> objectives;   // the measures to improve, most important first
    std::map<std::string, double> limits;  // how much worse a measure may become, relative: 0.05 = 5 %
    double threshold = 0.05;               // the smallest relative difference that matters
};

/// A result that was kept before.
struct EarlierResult {
    std::string label;                       // what tables call it
    std::string unlike;                      // why its figures cannot be held against today's; empty: they can
    std::vector<std::vector<double>> means;  // by variant and measure of today; NaN: it has none
};

struct Comparison {
    std::string title;
    std::string question;
    std::string file;
    std::string version;  // of the program that made the runs
    std::string commit;
    bool dirty = false;
    std::string command;                  // the exact command that repeats it
    bool complete = true;                 // false: interrupted, some runs are missing
    std::vector<std::string> not_shared;  // what the variants do not share, e.g. faults placed on events
    std::vector<ComparedVariant> variants;
    std::vector<ComparedScenario> scenarios;
    std::vector<std::uint64_t> seeds;
    std::vector<Measure> measures;
    std::vector<ComparedRun> runs;
    std::vector<Distribution> distributions;
    std::vector<Course> courses;
    std::vector<FaultBand> faults;  // of the run of the courses
    Criteria criteria;
    std::vector<std::pair<std::string, std::vector<std::string>>>
        axes;                            // of a grid: setting and its values; empty = no grid
    std::vector<EarlierResult> history;  // the oldest first; not part of the JSON document
};

}  // namespace lockstep::reports
