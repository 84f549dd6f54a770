// What the environment variables of the process say to the `lockstep` command. The only place that reads them: everything behind
// it gets values, so that a test needs no environment of its own.
#pragma once

#include <functional>
#include <string>

namespace lockstep::sim::cli {

/// The value of an environment variable; null where it is not set.
using Variable = std::function<const char*(const char* name)>;

struct Surroundings {
    bool colour = false;
    /// Where a CI system collects what its page says about a step (Markdown, appended to). Empty: there is none, and nobody reads
    /// annotations either.
    std::string step_summary;
};

/// `terminal`: standard output is one. GitHub Actions says GITHUB_ACTIONS=true and names a file in GITHUB_STEP_SUMMARY; one without
/// the other is left over from somewhere else and counts for nothing.
[[nodiscard]] Surroundings surroundings(const Variable& variable, bool terminal);

/// The variables of this process.
[[nodiscard]] const char* process_variable(const char* name);

}  // namespace lockstep::sim::cli
