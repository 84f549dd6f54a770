#include "sim/cli/run_page.h"

#include <fmt/format.h>

#include <ostream>

#include "reports/atomic_file.h"
#include "sim/cli/version.h"
#include "sim/cli/violation_text.h"
#include "sim/page/run_timeline.h"

namespace lockstep::sim::cli {

namespace {

std::vector<std::string> verdict_of(const RunResult& result) {
    std::vector<std::string> lines;
    for (const Violation& violation : result.violations) {
        const auto own = violation_lines(violation);
        lines.insert(lines.end(), own.begin(), violation.fact.what.empty() ? own.begin() + 1 : own.end());
    }
    for (const ExpectationOutcome& expectation : result.expectations) {
        if (!expectation.held)
            lines.push_back(fmt::format("expected {}, got {}", expectation.expected, expectation.actual));
    }
    return lines;
}

std::string program_of(const Environment& environment) {
    std::string program = fmt::format("lockstep {}", kVersion);
    if (!environment.commit.empty()) program += ", commit " + environment.commit;
    if (environment.dirty) program += " with uncommitted changes";
    return program;
}

}  // namespace

bool write_page(const std::string& path, const RunResult& result, const std::string& replay,
                const Environment& environment) {
    if (!result.history || result.interrupted) {
        environment.err << fmt::format("lockstep: --html: the run was not made to its end{}{}\n",
                                       result.error.empty() ? "" : ": ", result.error);
        return false;
    }
    const PageWords words{verdict_of(result), replay, program_of(environment)};
    if (const auto done = reports::write_atomically(path, run_page(result, words)); !done) {
        environment.err << "lockstep: " << done.error() << '\n';
        return false;
    }
    return true;
}

}  // namespace lockstep::sim::cli
