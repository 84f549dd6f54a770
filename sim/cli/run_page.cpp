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
        if (!expectation.held) lines.push_back(missed_text(expectation));
    }
    return lines;
}

std::string program_of(const Environment& environment) {
    std::string program = fmt::format("lockstep {}", kVersion);
    if (!environment.commit.empty()) program += ", commit " + environment.commit;
    if (environment.dirty) program += " with uncommitted changes";
    return program;
}

bool written(const std::string& path, const std::string& content, const Environment& environment) {
    const auto done = reports::write_atomically(path, content);
    if (!done) environment.err << "lockstep: " << done.error() << '\n';
    return done.has_value();
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
    return written(path, run_page(result, words), environment);
}

bool write_picture(const std::string& path, const RunResult& result, const std::string& job,
                   const Environment& environment) {
    const std::string picture = job_picture(result, {verdict_of(result), {}, {}}, job);
    if (picture.empty()) {
        environment.err << "lockstep: --svg: this run has no job to draw\n";
        return false;
    }
    return written(path, picture, environment);
}

}  // namespace lockstep::sim::cli
