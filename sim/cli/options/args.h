// What each subcommand was asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/shard.h"
#include "sim/scenario/data_loss.h"

namespace lockstep::sim::cli {

/// Which scenarios, under which seeds.
struct SelectionArgs {
    std::vector<std::string> paths;  // empty = scenarios/
    std::vector<std::string> filters;
    std::vector<std::string> tags;
    std::vector<std::string> overrides;
    std::vector<std::string> without;
    std::optional<std::uint64_t> seed;
    std::uint64_t seeds = 1;
    Shard shard{};            // of the runs
    unsigned threads = 0;     // 0 = as many as there are processors
    bool real = false;        // on real servers
    bool one_half = false;    // leave out the counterexamples of files that prove something
    std::string recorded_by;  // the build that printed this command as a replay line; empty = not known
};

/// How much is said, and how; of every subcommand.
struct TalkArgs {
    std::string colour = "auto";  // or always, never
    bool quiet = false;
    bool verbose = false;
};

struct RunArgs {
    SelectionArgs selection;
    bool list = false;  // what would be run, and nothing else
    bool fail_fast = false;
    bool allow_vacuous = false;
    bool all_invariants = false;  // each must have been put to the test by some run
    std::string run_timeout;      // of each run, of real time: a duration; empty = none
    std::string junit;
    std::string json;  // a file, "-" for standard output, empty = none
    std::string trace;
    std::string html;  // a file, or a folder for a page of each run that failed
    std::string markdown;
    std::string csv;
    std::string failures;           // a folder for failure files; empty = none are written
    std::string real_limit = "2m";  // a duration
};

struct NewArgs {
    std::string name;
    std::string out;  // a file; empty = NAME.json, in scenarios/ where there is such a folder
};

struct ValidateArgs {
    std::vector<std::string> paths;
    bool json = false;
};

struct VerifyArgs {
    SelectionArgs selection;
    std::string write;
    std::string against;
    bool once = false;  // with `against`: no second runs here
    bool json = false;
};

struct ExploreArgs {
    std::vector<std::string> paths;      // scenarios whose cluster and load are used; empty = everything is drawn
    std::vector<std::string> overrides;  // of these
    std::vector<std::string> without;
    std::uint64_t first = 1;
    std::uint64_t seeds = 0;  // 0 = no limit
    std::string wall;         // a duration; empty = no limit
    std::string out = "failures";
    bool keep_going = false;
    bool resume = false;
    DataLoss data_loss{};
    bool shrink = false;
    unsigned threads = 0;
    std::string recorded_by;
    bool json = false;
    std::string markdown;  // files; empty = none
    std::string csv;
};

struct EnumerateArgs {
    std::vector<std::string> paths;
    std::string out = "failures";
    int occurrences = 5;
    std::uint64_t pairs = 0;
    unsigned threads = 0;
    bool json = false;
};

struct CoverageArgs {
    std::uint64_t first = 1;
    std::uint64_t seeds = 1000;
    bool data_loss = false;  // as many draws again that lose data
    std::string markdown;
    std::string against;  // a table of more draws
    unsigned threads = 0;
    bool json = false;
};

struct OutputsArgs {
    std::vector<std::string> paths;
    std::uint64_t draws = 60;  // generated runs beside them
    unsigned share = 0;
    unsigned shares = 1;
    std::string write;
    unsigned threads = 0;
};

struct CompareArgs {
    std::string file;                     // a comparison, or a scenario
    std::vector<std::string> vary;        // NAME=VALUE,VALUE
    std::vector<std::string> objectives;  // measures; empty = as the file says
    std::vector<std::string> overrides;   // of every variant
    std::uint64_t seeds = 0;              // 0 = as the file says
    std::optional<std::uint64_t> seed;
    std::string html, markdown, csv, junit;  // files; empty = none
    std::string json;                        // a file, "-" for standard output, empty = none
    Shard shard{};
    std::vector<std::string> merge;  // files, in place of running anything
    bool resume = false;
    std::string baseline;
    std::string history;  // a folder; empty = none
    std::string against;  // another build of the program; empty = none
    unsigned threads = 0;
};

struct ShrinkArgs {
    std::string file;
    std::string out;  // empty = beside the original
    std::optional<std::uint64_t> seed;
    std::vector<std::string> overrides;
    std::vector<std::string> without;
    std::uint64_t max_runs = 10000;
    bool json = false;
};

struct ExplainArgs {
    std::string file;
    std::string job;  // empty = the one that the violation is about, or the first
    std::optional<std::uint64_t> seed;
    std::vector<std::string> overrides;
    std::vector<std::string> without;
    bool by_time = false;
    bool other_jobs = false;
    std::string html;
    std::string svg;
    std::string recorded_by;
    bool json = false;
};

struct ReplayArgs {
    std::vector<std::string> paths;  // files, or folders of them
    std::string junit;               // a file; empty = none
    unsigned threads = 0;
    std::string trace;
    std::vector<std::uint64_t> until;  // events at which to look at the world; of two, what changed
    std::vector<std::uint64_t> diff;   // likewise
    std::string dump;                  // a file; empty or "-" = standard output
    std::optional<std::uint64_t> seed;
    std::vector<std::string> overrides;
    std::vector<std::string> without;
    bool json = false;
    [[nodiscard]] bool looks() const { return !until.empty() || !diff.empty(); }
};

struct ListArgs {
    std::string topic;  // empty = all
    bool json = false;
    bool schema = false;
};

/// The topics that `list` knows, for help and completion.
[[nodiscard]] const std::vector<std::string>& list_topics();

}  // namespace lockstep::sim::cli
