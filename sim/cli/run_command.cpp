#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>

#include "reports/atomic_file.h"
#include "reports/junit.h"
#include "reports/result_json.h"
#include "sim/cli/commands.h"
#include "sim/cli/failure_files.h"
#include "sim/cli/presenter.h"
#include "sim/cli/progress.h"
#include "sim/cli/run_page.h"
#include "sim/cli/selection.h"

namespace lockstep::sim::cli {

namespace {

reports::RunRecord record_of(const Scenario& scenario, const RunResult& result, const SelectionArgs& args) {
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
            .replay = replay_command(scenario, result.seed, args)};
}

/// Runs that Ctrl-C cut short prove neither one thing nor the other and stay out of reports.
reports::RunReport report_of(const Selection& selection, const SweepOutcome& outcome, const SelectionArgs& args,
                             std::vector<std::string> unproved) {
    reports::RunReport report;
    for (std::size_t i = 0; i < outcome.results.size(); ++i) {
        if (!outcome.results[i].interrupted)
            report.results.push_back(
                record_of(selection.scenarios[outcome.runs[i].scenario], outcome.results[i], args));
    }
    report.unreached = unreached_branches(outcome.results);
    report.vacuous = std::move(unproved);
    return report;
}

std::vector<std::string> unproved_sentences(const Selection& selection, const SweepOutcome& outcome) {
    if (selection.plan.empty()) return {"nothing was selected"};
    std::vector<std::string> sentences;
    std::vector<std::vector<const RunResult*>> by_file(selection.scenarios.size());
    for (std::size_t i = 0; i < outcome.results.size(); ++i)
        by_file[outcome.runs[i].scenario].push_back(&outcome.results[i]);
    for (std::size_t i = 0; i < by_file.size(); ++i) {
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
    if (args.json == "-")
        environment.out << reports::result_json(report);
    else
        write(args.json, args.json.empty() ? "" : reports::result_json(report));
    return written;
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
    return write_page(args.html, result, replay_command(scenario, seed, args.selection), environment);
}

}  // namespace

Exit run_command(const RunArgs& args, const Environment& environment) {
    SelectionArgs wanted = args.selection;
    // A trace is of one run; and real servers have all mechanisms.
    wanted.one_half = !args.trace.empty() || wanted.real;
    auto selection = select(wanted, environment);
    if (!selection || !adapted(*selection, args, environment)) return Exit::usage;
    if (!args.trace.empty() && selection->plan.size() != 1) {
        environment.err << fmt::format(
            "lockstep: --trace needs exactly one run, but {} are selected; name one file and use --seed\n",
            selection->plan.size());
        return Exit::usage;
    }
    const bool talk = args.json != "-";
    const unsigned threads = threads_of(args.selection, environment);
    Presenter presenter(*selection, args.selection, environment.out, environment.colour);
    Progress progress(environment.err, environment.progress, selection->plan.size());
    if (talk) presenter.begin(threads);

    SweepOptions options;
    options.threads = threads;
    options.fail_fast = args.fail_fast;
    options.run.stop = environment.stop;
    options.run.trace_path = args.trace;
    options.on_start = [&](const PlannedRun& run) {
        if (environment.note_run)
            environment.note_run(replay_command(selection->scenarios[run.scenario], run.seed, args.selection));
    };
    options.on_result = [&](const PlannedRun& run, const RunResult& result) {
        if (talk && presenter.completed(run, result)) {
            progress.clear();
            presenter.show();
        }
        progress.advance(!result.passed && !result.interrupted);
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
    const bool written = write_reports(args, report_of(*selection, outcome, args.selection, unproved), environment);
    const bool shown = args.html.empty() || write_html(args, *selection, outcome, environment);
    const Exit exit = exit_of(outcome, !unproved.empty(), args.allow_vacuous);
    return exit == Exit::passed && !(written && shown && kept) ? Exit::usage : exit;
}

}  // namespace lockstep::sim::cli
