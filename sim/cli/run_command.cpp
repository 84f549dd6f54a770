#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>

#include "reports/atomic_file.h"
#include "reports/junit.h"
#include "reports/result_json.h"
#include "reports/run_tables.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/failure_files.h"
#include "sim/cli/presenter.h"
#include "sim/cli/progress.h"
#include "sim/cli/run_page.h"
#include "sim/cli/selection.h"
#include "sim/cli/verdict.h"
#include "sim/cli/violation_text.h"

namespace lockstep::sim::cli {

namespace {

/// What is known of a run before it is made.
reports::RunRecord planned_record(const Scenario& scenario, std::uint64_t seed, const std::string& replay) {
    reports::RunRecord record;
    record.file = scenario.file;
    record.name = scenario.name;
    record.seed = seed;
    record.without = scenario.without;
    record.replay = replay;
    return record;
}

reports::RunRecord record_of(const Scenario& scenario, const RunResult& result, const std::string& replay) {
    return {.file = result.file,
            .name = result.name,
            .seed = result.seed,
            .passed = result.passed,
            .digest = result.digest,
            .virtual_ms = result.virtual_ms,
            .wall_ms = result.wall_ms,
            .events = result.events,
            .states = result.states,
            .runs = result.runs,
            .metrics = result.metrics,
            .violations = result.violations,
            .expectations = result.expectations,
            .faults = result.faults,
            .exercised = result.exercised,
            .histories = result.histories,
            .without = scenario.without,
            .reached = result.reached,
            .error = result.error,
            .replay = replay};
}

reports::RunRecord record_in(const Selection& selection, const SweepOutcome& outcome, std::size_t index,
                             const SelectionArgs& args, const std::string& build) {
    const Scenario& scenario = selection.scenarios[outcome.runs[index].scenario];
    const RunResult& result = outcome.results[index];
    return record_of(scenario, result, replay_command(scenario, result.seed, args, build));
}

/// Those that Ctrl-C cut short are among the missing.
std::string runs_made(const Selection& selection, const SweepOutcome& outcome) {
    const auto made = std::ranges::count(outcome.results, false, &RunResult::interrupted);
    return fmt::format("{} of {} runs were made to their end", made, selection.plan.size());
}

/// Runs that Ctrl-C cut short prove neither one thing nor the other and stay out of reports; that they are missing is said there.
reports::RunReport report_of(const Selection& selection, const SweepOutcome& outcome, const SelectionArgs& args,
                             const std::string& build, std::vector<std::string> unproved) {
    reports::RunReport report;
    report.build = build;
    if (outcome.interrupted) report.incomplete = "interrupted: " + runs_made(selection, outcome);
    for (std::size_t i = 0; i < outcome.results.size(); ++i) {
        if (!outcome.results[i].interrupted) report.results.push_back(record_in(selection, outcome, i, args, build));
    }
    report.unreached = unreached_branches(outcome.results);
    report.vacuous = std::move(unproved);
    return report;
}

std::vector<std::string> unproved_sentences(const Selection& selection, const SweepOutcome& outcome) {
    if (selection.scenarios.empty()) return {"nothing was selected"};
    if (selection.plan.empty()) return {"this part has no run: there are more parts than runs"};
    std::vector<std::string> sentences;
    std::vector<std::vector<const RunResult*>> by_file(selection.scenarios.size());
    for (std::size_t i = 0; i < outcome.results.size(); ++i)
        by_file[outcome.runs[i].scenario].push_back(&outcome.results[i]);
    for (std::size_t i = 0; i < by_file.size(); ++i) {
        if (selection.shared_out.contains(i)) continue;
        const auto of_file = unproved_of_file(selection.scenarios[i], by_file[i]);
        sentences.insert(sentences.end(), of_file.begin(), of_file.end());
    }
    // Half a selection proves nothing about the whole.
    const bool complete = outcome.results.size() == selection.plan.size();
    if (!complete || !selection.whole_folder) return sentences;
    const auto of_selection = unproved_of_selection(selection.scenarios, outcome);
    sentences.insert(sentences.end(), of_selection.begin(), of_selection.end());
    return sentences;
}

Exit exit_of(const SweepOutcome& outcome, bool unproved, bool allow_vacuous) {
    const auto any = [&](auto condition) { return std::ranges::any_of(outcome.results, condition); };
    if (outcome.interrupted) return Exit::interrupted;
    if (any([](const RunResult& result) { return !result.error.empty(); })) return Exit::harness;
    if (any([](const RunResult& result) { return !result.passed && !result.interrupted; })) return Exit::violated;
    return unproved && !allow_vacuous ? Exit::nothing_proved : Exit::passed;
}

/// Fits the scenarios to what the runner can do; says on `err` which cannot be run.
bool adapted(Selection& selection, const RunArgs& args, const Environment& environment) {
    if (!environment.adapt) return true;
    for (Scenario& scenario : selection.scenarios) {
        if (const auto fits = environment.adapt(scenario, args); !fits) {
            environment.err << "lockstep: " << fits.error() << '\n';
            return false;
        }
    }
    return true;
}

bool write_reports(const RunArgs& args, const reports::RunReport& report, const Environment& environment) {
    bool written = true;
    const auto write = [&](const std::string& path, const std::string& content) {
        if (path.empty()) return;
        if (const auto done = reports::write_atomically(path, content); !done) {
            environment.err << "lockstep: " << done.error() << '\n';
            written = false;
        }
    };
    write(args.junit, args.junit.empty() ? "" : reports::junit_xml(report, args.allow_vacuous));
    write(args.markdown, args.markdown.empty() ? "" : reports::run_markdown(report));
    write(args.csv, args.csv.empty() ? "" : reports::run_csv(report));
    if (args.json == "-")
        environment.out << reports::result_json(report);
    else
        write(args.json, args.json.empty() ? "" : reports::result_json(report));
    return written;
}

/// A harness that failed leaves no trace: it would look like a whole one.
bool finish_trace(reports::AtomicFile& trace, const std::vector<RunResult>& results, const Environment& environment) {
    if (results.empty() || !results.front().error.empty()) return true;
    const auto done = trace.finish();
    if (!done) environment.err << "lockstep: " << done.error() << '\n';
    return done.has_value();
}

/// Makes the run that is worth a look once more and draws it.
bool write_html(const RunArgs& args, const Selection& selection, const SweepOutcome& outcome,
                const Environment& environment) {
    if (outcome.results.empty() || outcome.interrupted) {
        environment.err << "lockstep: --html: no run was made that could be shown\n";
        return false;
    }
    const auto failed = std::ranges::find(outcome.results, false, &RunResult::passed);
    const auto index = failed == outcome.results.end() ? 0 : failed - outcome.results.begin();
    const Scenario& scenario = selection.scenarios[outcome.runs[static_cast<std::size_t>(index)].scenario];
    const std::uint64_t seed = outcome.results[static_cast<std::size_t>(index)].seed;
    RunOptions options;
    options.stop = environment.stop;
    options.history = true;
    const RunResult result = environment.runner(scenario, seed, options);
    return write_page(args.html, result, replay_command(scenario, seed, args.selection, build_name(environment)),
                      environment);
}

/// The first line of the trace of the one run.
std::string trace_heading(const Selection& selection, const RunArgs& args, const std::string& build) {
    const PlannedRun& run = selection.plan.front();
    const Scenario& scenario = selection.scenarios[run.scenario];
    return heading_of_trace(scenario.name, run.seed, build, replay_command(scenario, run.seed, args.selection, build));
}

/// One line for the page of a CI system: the first thing that is wrong with a run.
reports::Annotation problem_of(const reports::RunRecord& run) {
    std::string what = "the run did not pass";
    std::string detail = "a counterexample that holds proves nothing";
    if (!run.error.empty()) {
        what = "the harness itself failed";
        detail = run.error;
    } else if (!run.violations.empty()) {
        what = run.violations.front().invariant;
        detail = violation_lines(run.violations.front()).front();
    } else if (const auto broken = std::ranges::find(run.expectations, false, &ExpectationOutcome::held);
               broken != run.expectations.end()) {
        what = "expectation";
        detail = fmt::format("expected {}, got {}", broken->expected, broken->actual);
    }
    return {.file = run.file,
            .title = fmt::format("{} seed {}: {}", run.name, run.seed, what),
            .detail = detail + "\nreplay: " + run.replay};
}

Verdict verdict_of(const Selection& selection, const SweepOutcome& outcome, const reports::RunReport& report,
                   const std::vector<std::string>& unproved, Exit exit) {
    Verdict verdict{.command = "run", .exit = exit, .sentence = {}, .again = {}};
    for (const reports::RunRecord& run : report.results) {
        if (run.passed) continue;
        if (verdict.again.empty()) verdict.again = run.replay;
        verdict.problems.push_back(problem_of(run));
    }
    const std::size_t failures = verdict.problems.size();
    if (exit == Exit::nothing_proved) {
        verdict.sentence = unproved.front();
        if (unproved.size() > 1)
            verdict.sentence += fmt::format("; and {} more that were left unproved", unproved.size() - 1);
        for (const std::string& sentence : unproved)
            verdict.problems.push_back({.file = {}, .title = "left unproved", .detail = sentence});
    } else if (exit == Exit::interrupted) {
        verdict.sentence = fmt::format("{}, {} of them failed", runs_made(selection, outcome), failures);
    } else if (exit == Exit::usage) {
        verdict.sentence = "the runs held, and not every file could be written";
    } else if (failures > 0) {
        verdict.sentence = fmt::format("{} of {} run{} failed", failures, report.results.size(),
                                       report.results.size() == 1 ? "" : "s");
    } else {
        verdict.sentence = fmt::format("{} run{} held", report.results.size(), report.results.size() == 1 ? "" : "s");
    }
    return verdict;
}

}  // namespace

Exit run_command(const RunArgs& args, const Environment& environment) {
    SelectionArgs wanted = args.selection;
    // A trace is of one run; and real servers have all mechanisms.
    wanted.one_half = !args.trace.empty() || wanted.real;
    auto selection = select(wanted, "run", environment);
    if (!selection || !adapted(*selection, args, environment)) return Exit::usage;
    if (!args.trace.empty() && selection->plan.size() != 1) {
        environment.err << fmt::format(
            "lockstep: --trace needs exactly one run, but {} are selected; name one file and use --seed\n",
            selection->plan.size());
        return Exit::usage;
    }
    const bool talk = args.json != "-";
    const unsigned threads = threads_of(args.selection, environment);
    const std::string build = build_name(environment);
    CrashGuard crash("run", {args.junit, args.json, environment.step_summary}, environment);
    if (!crash.begin()) return Exit::usage;
    Presenter presenter(*selection, args.selection, build, environment.out, environment.colour, environment.quiet);
    Progress progress(environment.err, environment.watcher, selection->plan.size());
    if (talk) presenter.begin(threads);

    SweepOptions options;
    options.threads = threads;
    options.fail_fast = args.fail_fast;
    options.run.stop = environment.stop;
    std::optional<reports::AtomicFile> trace;
    if (!args.trace.empty()) {
        options.run.trace = &trace.emplace(args.trace);
        options.run.trace_heading = trace_heading(*selection, args, build);
    }
    options.on_start = [&](const PlannedRun& run) {
        const Scenario& scenario = selection->scenarios[run.scenario];
        crash.started(planned_record(scenario, run.seed, replay_command(scenario, run.seed, args.selection, build)));
    };
    options.on_result = [&](const PlannedRun& run, const RunResult& result) {
        if (talk && presenter.completed(run, result)) {
            progress.clear();
            presenter.show();
        }
        progress.advance(!result.passed && !result.interrupted);
        if (result.interrupted) return;
        const Scenario& scenario = selection->scenarios[run.scenario];
        crash.add(record_of(scenario, result, replay_command(scenario, result.seed, args.selection, build)));
    };
    const auto started = std::chrono::steady_clock::now();
    const SweepOutcome outcome = sweep(selection->scenarios, selection->plan, environment.runner, options);
    const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started);

    progress.clear();
    const auto unproved = unproved_sentences(*selection, outcome);
    const bool kept =
        args.failures.empty() || write_failures(args.failures, *selection, outcome, args.selection, environment, talk);
    if (talk)
        presenter.finish(outcome, unproved, wall);
    else
        for (const std::string& sentence : unproved) environment.err << "unproved: " << sentence << '\n';
    if (environment.afterword) environment.afterword(talk ? environment.out : environment.err);
    const reports::RunReport report = report_of(*selection, outcome, args.selection, build, unproved);
    const bool written = write_reports(args, report, environment);
    const bool traced = !trace || finish_trace(*trace, outcome.results, environment);
    const bool shown = args.html.empty() || write_html(args, *selection, outcome, environment);
    Exit exit = exit_of(outcome, !unproved.empty(), args.allow_vacuous);
    if (exit == Exit::passed && !(written && traced && shown && kept)) exit = Exit::usage;
    if (talk && !environment.quiet) environment.out << '\n';
    return conclude(verdict_of(*selection, outcome, report, unproved, exit), talk_of(!talk, environment), environment);
}

}  // namespace lockstep::sim::cli
