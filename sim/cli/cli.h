// The `lockstep` command below main: arguments in, exit code out, everything else through the environment that main
// fills. Nothing here reads a global, so that every subcommand can be tested as a function.
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "sim/cli/other_build.h"
#include "sim/cli/terminal_line.h"
#include "sim/run/result.h"

namespace lockstep::sim::cli {

struct RunArgs;
class UnfinishedReports;

enum class Exit : int {
    passed = 0,
    violated = 1,  // an invariant or an expectation did not hold
    usage = 2,     // the command line or an input was wrong
    harness = 3,   // the harness itself failed
    nothing_proved = 4,
    not_deterministic = 5,
    interrupted = 130,
};

struct Environment {
    std::ostream& out;
    std::ostream& err;
    Runner runner;
    bool colour = false;                      // of what is written to `out`, unless an option says otherwise
    Watcher watcher{};                        // of `err`, while something goes on
    bool quiet = false;                       // only what is wrong, and the verdict
    bool verbose = false;                     // all of what holds
    unsigned processors = 1;                  // default of -j
    const std::atomic<bool>* stop = nullptr;  // set by Ctrl-C
    /// Runs lockstepctl with these arguments and answers its exit code; negative when it cannot be found.
    std::function<int(const std::vector<std::string>&)> operate;
    /// Runs the program of `dev` with the arguments behind that word; answers as `operate` does.
    std::function<int(const std::vector<std::string>&)> develop{};
    /// Tells whoever reports a crash what runs on this thread now: the replay command. Empty = nothing.
    std::function<void(const std::string&)> note_run;
    /// Runs the program that runs scenarios on real servers with these arguments; answers as `operate` does. Empty: this is
    /// that program.
    std::function<int(const std::vector<std::string>&)> rehearse;
    /// Takes out of a scenario what the runner cannot do. The error is an input that cannot be run at all. Empty: the runner
    /// does everything.
    std::function<tl::expected<void, std::string>(Scenario&, const RunArgs&)> adapt;
    /// Adds to what `run` says at its end. Empty = nothing.
    std::function<void(std::ostream&)> afterword;
    /// Runs another build of this program with these arguments (other_build.h).
    std::function<tl::expected<Answer, std::string>(const std::string& program, const std::vector<std::string>& args)>
        ask_build{};
    /// What this program was built of (build.h).
    std::string commit{};
    bool dirty = false;
    /// A file of a CI system (surroundings.h), which then shows annotations, too; empty = none.
    std::string step_summary{};
    /// Names the reports that a crash has to complete; null: there are none any more. Empty = a crash completes none.
    std::function<void(UnfinishedReports*)> keep_in_crash{};
};

/// `args` without the name of the program.
[[nodiscard]] int cli_main(const std::vector<std::string>& args, const Environment& environment);

}  // namespace lockstep::sim::cli
