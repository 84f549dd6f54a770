// What the environment variables of the process say to the `lockstep` command. The only place that reads them: everything behind
// it gets values, so that a test needs no environment of its own.
#pragma once

#include <functional>
#include <string>

#include "sim/cli/terminal_line.h"

namespace lockstep::sim::cli {

/// The value of an environment variable; null where it is not set.
using Variable = std::function<const char*(const char* name)>;

/// Whether the standard streams are terminals.
struct Terminals {
    bool out = false;
    bool err = false;
};

struct Surroundings {
    /// NO_COLOR (not empty) forbids colours, then CLICOLOR_FORCE (neither empty nor 0) asks for them, else a terminal that knows them has
    /// them. Options count more than either.
    bool colour = false;
    /// Nobody where CI says that it is one, whose logs are read afterwards; a dumb terminal is a log.
    Watcher::Kind watcher = Watcher::Kind::log;
    /// Where a CI system collects what its page says about a step (Markdown, appended to). Empty: there is none, and nobody reads
    /// annotations either.
    std::string step_summary;
};

/// GitHub Actions says GITHUB_ACTIONS=true and names a file in GITHUB_STEP_SUMMARY; one without
/// the other is left over from somewhere else and counts for nothing.
[[nodiscard]] Surroundings surroundings(const Variable& variable, Terminals terminals);

/// The variables of this process.
[[nodiscard]] const char* process_variable(const char* name);

}  // namespace lockstep::sim::cli
