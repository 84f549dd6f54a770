#include "sim/cli/verdict.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <utility>

#include "reports/step_summary.h"
#include "sim/cli/build_name.h"

namespace lockstep::sim::cli {

void tell_ci(const Verdict& verdict, std::ostream& say, const Environment& environment) {
    if (environment.step_summary.empty()) return;
    // Of other paths than absolute ones a CI system does not know in which folder this runs.
    std::vector<reports::Annotation> placed = verdict.problems;
    for (reports::Annotation& problem : placed)
        if (!problem.file.empty()) problem.file = std::filesystem::absolute(problem.file).lexically_normal().string();
    say << reports::error_annotations(placed);
    const auto written = reports::append_to_file(
        environment.step_summary,
        reports::step_summary_markdown({.title = fmt::format("lockstep {}: {}", verdict.command, word_of(verdict.exit)),
                                        .sentence = verdict.sentence,
                                        .problems = verdict.problems,
                                        .again = verdict.again,
                                        .build = build_name(environment)}));
    if (!written) environment.err << "lockstep: note: the summary of this step: " << written.error() << '\n';
}

std::string_view word_of(Exit exit) {
    switch (exit) {
        case Exit::passed: return "PASSED";
        case Exit::violated: return "FAILED";
        case Exit::usage: return "WRONG INPUT";
        case Exit::harness: return "HARNESS FAILED";
        case Exit::nothing_proved: return "NOTHING PROVED";
        case Exit::not_deterministic: return "NOT DETERMINISTIC";
        case Exit::interrupted: return "INTERRUPTED";
    }
    return "";
}

Exit conclude(const Verdict& verdict, std::ostream& say, const Environment& environment) {
    tell_ci(verdict, say, environment);
    const bool coloured = environment.colour && &say == &environment.out;
    const char* const colour = verdict.exit == Exit::passed ? "\x1b[32m" : "\x1b[31m";
    say << fmt::format("{}{}{}: {}.", coloured ? colour : "", word_of(verdict.exit), coloured ? "\x1b[0m" : "",
                       verdict.sentence);
    if (!verdict.again.empty())
        say << fmt::format(" {}:\n  {}", verdict.problems.size() > 1 ? "The first again" : "Again", verdict.again);
    say << '\n';
    say.flush();
    return verdict.exit;
}

std::ostream& talk_of(bool json, const Environment& environment) { return json ? environment.err : environment.out; }

CrashGuard::CrashGuard(const std::string& command, ReportTargets targets, const Environment& environment)
    : environment_(environment), reports_(std::move(targets), command, build_name(environment)) {}

CrashGuard::~CrashGuard() {
    if (environment_.keep_in_crash) environment_.keep_in_crash(nullptr);
}

bool CrashGuard::begin() {
    if (const auto begun = reports_.begin(); !begun) {
        environment_.err << "lockstep: " << begun.error() << '\n';
        return false;
    }
    if (environment_.keep_in_crash) environment_.keep_in_crash(&reports_);
    return true;
}

void CrashGuard::started(const reports::RunRecord& run) const {
    if (environment_.note_run) environment_.note_run(run.replay);
    if (environment_.keep_in_crash) reports_.started(run);
}

void CrashGuard::started(const std::string& name, std::uint64_t seed, const std::string& replay) const {
    reports::RunRecord run;
    run.name = name;
    run.seed = seed;
    run.replay = replay;
    started(run);
}

ReportTargets spoken_reports(bool json, const Environment& environment) {
    return {.junit = {}, .json = json ? "-" : "", .step_summary = environment.step_summary};
}

}  // namespace lockstep::sim::cli
