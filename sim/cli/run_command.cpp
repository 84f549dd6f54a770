#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "engine/config/tunables.h"

#include "reports/atomic_file.h"
#include "reports/junit.h"
#include "reports/result_json.h"
#include "reports/run_tables.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/failed_alike.h"
#include "sim/cli/failure_files.h"
#include "sim/cli/json_output.h"
#include "sim/cli/presenter.h"
#include "sim/cli/progress.h"
#include "sim/cli/run_page.h"
#include "sim/cli/selection.h"
#include "sim/cli/verdict.h"

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

/// Runs that were ended by --run-timeout, a sentence for each file.
std::vector<std::string> without_verdict(const Selection& selection, const SweepOutcome& outcome,
                                         const std::string& limit) {
    std::map<std::size_t, std::vector<const RunResult*>> by_file;
    for (std::size_t i = 0; i < outcome.results.size(); ++i)
        if (outcome.results[i].out_of_time) by_file[outcome.runs[i].scenario].push_back(&outcome.results[i]);
    std::vector<std::string> sentences;
    for (const auto& [scenario, results] : by_file)
        sentences.push_back(fmt::format("{}: no verdict on {}, which took longer than {} (--run-timeout)",
                                        selection.scenarios[scenario].file, seeds_text(results), limit));
    return sentences;
}

std::vector<std::string> unproved_sentences(const Selection& selection, const SweepOutcome& outcome,
                                            const RunArgs& args) {
    if (selection.scenarios.empty())
        return {fmt::format("nothing was selected{}{}", selection.unmatched.empty() ? "" : ": ",
                            fmt::join(selection.unmatched, ", "))};
    if (selection.plan.empty()) return {"this part has no run: there are more parts than runs"};
    std::vector<std::string> sentences = selection.unmatched;
    std::ranges::move(without_verdict(selection, outcome, args.run_timeout), std::back_inserter(sentences));
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
    if (!complete || !args.all_invariants) return sentences;
    const auto of_selection = unproved_of_selection(outcome);
    sentences.insert(sentences.end(), of_selection.begin(), of_selection.end());
    return sentences;
}

Exit exit_of(const SweepOutcome& outcome, bool unproved, bool allow_vacuous) {
    const auto any = [&](auto condition) { return std::ranges::any_of(outcome.results, condition); };
    if (outcome.interrupted) return Exit::interrupted;
    if (any([](const RunResult& result) { return !result.error.empty(); })) return Exit::harness;
    if (any([](const RunResult& result) { return !result.passed && !result.interrupted; })) return Exit::violated;
    // What was not run to its end is nothing that a file may be allowed.
    const bool out_of_time = any([](const RunResult& result) { return result.out_of_time; });
    return out_of_time || (unproved && !allow_vacuous) ? Exit::nothing_proved : Exit::passed;
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

/// The first run of each way to fail, or else the first.
std::vector<std::size_t> worth_a_look(const Selection& selection, const SweepOutcome& outcome) {
    std::vector<std::size_t> shown;
    for (const FailedAlike& failed : failed_alike(selection, outcome))
        shown.push_back(static_cast<std::size_t>(&failed.first() - outcome.results.data()));
    if (shown.empty()) shown.push_back(0);
    return shown;
}

/// Makes the runs that are worth a look once more and draws them.
bool write_html(const RunArgs& args, const Selection& selection, const SweepOutcome& outcome,
                const Environment& environment) {
    constexpr std::size_t kPagesMax = 100;  // of up to 5 MB each
    if (outcome.results.empty() || outcome.interrupted) {
        environment.err << "lockstep: --html: no run was made that could be shown\n";
        return false;
    }
    std::error_code error;
    const bool into_folder = args.html.ends_with('/') || std::filesystem::is_directory(args.html, error);
    auto shown = worth_a_look(selection, outcome);
    const std::size_t most = into_folder ? kPagesMax : 1;
    if (into_folder && shown.size() > most)
        environment.err << fmt::format("lockstep: note: --html: pages of the first {} of {} runs\n", most,
                                       shown.size());
    shown.resize(std::min(shown.size(), most));
    bool written = true;
    for (const std::size_t index : shown) {
        const Scenario& scenario = selection.scenarios[outcome.runs[index].scenario];
        const std::uint64_t seed = outcome.results[index].seed;
        RunOptions options;
        options.stop = environment.stop;
        options.history = true;
        const RunResult result = environment.runner(scenario, seed, options);
        const std::string name = as_file_name(fmt::format("{}-seed{}.html", scenario.name, seed));
        const std::string path = into_folder ? (std::filesystem::path(args.html) / name).string() : args.html;
        written &= write_page(path, result, replay_command(scenario, seed, args.selection, build_name(environment)),
                              environment);
    }
    return written;
}

/// The first line of the trace of the one run.
std::string trace_heading(const Selection& selection, const RunArgs& args, const std::string& build) {
    const PlannedRun& run = selection.plan.front();
    const Scenario& scenario = selection.scenarios[run.scenario];
    return heading_of_trace(scenario.name, run.seed, build, replay_command(scenario, run.seed, args.selection, build));
}

Verdict verdict_of(const Selection& selection, const SweepOutcome& outcome, const RunArgs& args,
                   const std::string& build, const std::vector<std::string>& unproved, Exit exit) {
    Verdict verdict{.command = "run", .exit = exit, .sentence = {}, .again = {}};
    std::size_t failures = 0;
    for (const FailedAlike& failed : failed_alike(selection, outcome)) {
        const std::string replay = replay_command(*failed.scenario, failed.first().seed, args.selection, build);
        if (verdict.again.empty()) verdict.again = replay;
        verdict.problems.push_back(annotation_of(failed, replay));
        failures += failed.results.size();
    }
    const auto made = static_cast<std::size_t>(std::ranges::count(outcome.results, false, &RunResult::interrupted));
    const std::size_t ways = verdict.problems.size();
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
        const std::size_t left = selection.plan.size() - outcome.results.size();
        verdict.sentence = fmt::format("{} of {} run{} failed{}{}", failures, made, made == 1 ? "" : "s",
                                       ways == 1 ? "" : fmt::format(", in {} ways", ways),
                                       left == 0 ? "" : fmt::format("; {} more were not begun (--fail-fast)", left));
    } else {
        verdict.sentence = fmt::format("{} run{} held", made, made == 1 ? "" : "s");
    }
    return verdict;
}

/// Options that cannot stand together; empty: they can.
std::string contradiction_in(const RunArgs& args) {
    if (args.all_invariants && !args.selection.shard.is_whole())
        return "--require-all-invariants looks at all runs, and --shard makes some of them";
    if (!args.run_timeout.empty() && args.selection.real)
        return "--run-timeout is for simulated runs; --real-limit bounds those on real servers";
    return {};
}

/// Zero: there is none. Nothing: it is none, which has been said.
std::optional<engine::Duration> time_limit_of(const RunArgs& args, const Environment& environment) {
    if (args.run_timeout.empty()) return engine::Duration{};
    const auto limit = engine::parse_duration(args.run_timeout);
    if (limit && limit->count() > 0) return *limit;
    environment.err << fmt::format("lockstep: --run-timeout: {}\n",
                                   limit ? "expected a duration of more than 0" : limit.error());
    return {};
}

Exit list_runs(const Selection& selection, const RunArgs& args, const Environment& environment) {
    const bool is_whole = !selection.plan.empty() && selection.unmatched.empty();
    const Exit exit = is_whole ? Exit::passed : Exit::nothing_proved;
    if (!args.json.empty()) {
        nlohmann::json document = document_head("run", exit, environment);
        document["runs"] = nlohmann::json::array();
        for (const PlannedRun& run : selection.plan) {
            const Scenario& scenario = selection.scenarios[run.scenario];
            document["runs"].push_back({{"file", scenario.file},
                                        {"name", scenario.name},
                                        {"seed", run.seed},
                                        {"tags", scenario.tags},
                                        {"without", scenario.without}});
        }
        print_document(document, environment);
        return exit;
    }
    for (const PlannedRun& run : selection.plan) {
        const Scenario& scenario = selection.scenarios[run.scenario];
        environment.out << fmt::format(
            "{}  {}  seed {}{}\n", scenario.file, scenario.name, run.seed,
            scenario.tags.empty() ? "" : fmt::format("  [{}]", fmt::join(scenario.tags, " ")));
    }
    for (const std::string& sentence : selection.unmatched) environment.err << fmt::format("lockstep: {}\n", sentence);
    if (selection.plan.empty()) environment.out << "NOTHING PROVED: nothing was selected.\n";
    return exit;
}

/// An input was wrong, which has been said. The report of an earlier run does not stay as if it were of this one.
Exit nothing_ran(const RunArgs& args, const Environment& environment) {
    environment.err << fmt::format("{}: nothing was run.\n", word_of(Exit::usage));
    if (args.junit.empty() || args.list) return Exit::usage;
    reports::RunReport report;
    report.build = build_name(environment);
    report.incomplete = "an input was wrong, and nothing was run";
    const auto written = reports::write_atomically(args.junit, reports::junit_xml(report, args.allow_vacuous));
    if (!written) environment.err << "lockstep: " << written.error() << '\n';
    return Exit::usage;
}

}  // namespace

Exit run_command(const RunArgs& args, const Environment& environment) {
    if (const std::string why = contradiction_in(args); !why.empty()) {
        environment.err << fmt::format("lockstep: {}\n", why);
        return Exit::usage;
    }
    const auto time_limit = time_limit_of(args, environment);
    if (!time_limit) return Exit::usage;
    SelectionArgs wanted = args.selection;
    // A trace is of one run; and real servers have all mechanisms.
    wanted.one_half = !args.trace.empty() || wanted.real;
    auto selection = select(wanted, "run", environment);
    if (!selection || !adapted(*selection, args, environment)) return nothing_ran(args, environment);
    if (args.list) return list_runs(*selection, args, environment);
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
    Presenter presenter(*selection, args.selection, environment);
    Progress progress(environment.err, environment.watcher, selection->plan.size());
    if (talk) presenter.begin(threads);

    SweepOptions options;
    options.threads = threads;
    options.fail_fast = args.fail_fast;
    options.run.stop = environment.stop;
    options.run.time_limit = *time_limit;
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
    const auto unproved = unproved_sentences(*selection, outcome, args);
    const bool kept =
        args.failures.empty() || write_failures(args.failures, *selection, outcome, args.selection, environment, talk);
    if (talk)
        presenter.finish(outcome, unproved, wall);
    else
        for (const std::string& sentence : unproved) environment.err << "unproved: " << sentence << '\n';
    if (environment.afterword) environment.afterword(talk ? environment.out : environment.err);
    const bool traced = !trace || finish_trace(*trace, outcome.results, environment);
    const bool shown = args.html.empty() || write_html(args, *selection, outcome, environment);
    Exit exit = exit_of(outcome, !unproved.empty(), args.allow_vacuous);
    if (exit == Exit::passed && !(traced && shown && kept)) exit = Exit::usage;
    reports::RunReport report = report_of(*selection, outcome, args.selection, build, unproved);
    report.exit = static_cast<int>(exit);
    report.verdict = word_of(exit);
    const bool written = write_reports(args, report, environment);
    if (exit == Exit::passed && !written) exit = Exit::usage;
    if (talk && !environment.quiet) environment.out << '\n';
    return conclude(verdict_of(*selection, outcome, args, build, unproved, exit), talk_of(!talk, environment),
                    environment);
}

}  // namespace lockstep::sim::cli
