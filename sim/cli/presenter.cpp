#include "sim/cli/presenter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "sim/cli/build_name.h"
#include "sim/cli/violation_text.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/warnings.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kGreen = "32";
constexpr const char* kRed = "31";
constexpr const char* kYellow = "33";

constexpr std::size_t kStoryLinesMax = 12;
constexpr std::size_t kFailuresShownMax = 10;
constexpr std::size_t kWarningsShownMax = 5;

bool failed(const RunResult& result) { return !result.interrupted && !result.passed; }

std::string counted(std::uint64_t n, const std::string& noun, const std::string& nouns = {}) {
    return fmt::format("{} {}", n, n == 1 ? noun : nouns.empty() ? noun + "s" : nouns);
}

/// A counterexample stands below its scenario.
std::string shown_name(const Scenario& scenario) {
    if (!scenario.counterexample) return scenario.name;
    const auto& violated = scenario.expect.violated;
    return fmt::format("  without {}{}{}", scenario.without.back(), violated.empty() ? "" : ": breaks ",
                       fmt::join(violated, ", "));
}

}  // namespace

std::string human_duration(std::int64_t millis) {
    if (millis < 1000) return fmt::format("{}ms", millis);
    const std::int64_t seconds = millis / 1000;
    if (seconds < 60) return fmt::format("{}.{}s", seconds, millis % 1000 / 100);
    if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
    return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
}

Presenter::Presenter(const Selection& selection, const SelectionArgs& args, const Environment& environment)
    : selection_(selection),
      args_(args),
      environment_(environment),
      build_(build_name(environment)),
      out_(environment.out),
      files_(selection.scenarios.size()) {
    for (const PlannedRun& run : selection.plan) ++files_[run.scenario].planned;
    for (const Scenario& scenario : selection.scenarios)
        if (!scenario.counterexample) name_width_ = std::max(name_width_, scenario.name.size());
}

std::string Presenter::painted(const char* colour, const std::string& text) const {
    return environment_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
}

void Presenter::begin(unsigned threads) {
    if (environment_.quiet) return;
    const auto files =
        static_cast<std::uint64_t>(std::ranges::count(selection_.scenarios, false, &Scenario::counterexample));
    out_ << fmt::format("lockstep {}: {}, {}, {}\n", build_, counted(files, "scenario"),
                        counted(selection_.plan.size(), "run"), counted(threads, "thread"));
    for (const std::string& assignment : args_.overrides) out_ << "  --set " << assignment << '\n';
    for (const std::string& mechanism : args_.without) out_ << "  --without " << mechanism << '\n';
}

bool Presenter::completed(const PlannedRun& run, const RunResult& result) {
    files_[run.scenario].results.push_back(&result);
    return due();
}

bool Presenter::due() const {
    return !environment_.quiet && shown_ < files_.size() && files_[shown_].results.size() == files_[shown_].planned;
}

void Presenter::show() {
    while (due()) file_line(shown_++);
    out_.flush();
}

void Presenter::file_line(std::size_t index) {
    const Scenario& scenario = selection_.scenarios[index];
    std::vector<const RunResult*> results = files_[index].results;
    if (results.empty()) return;
    std::ranges::sort(results, {}, &RunResult::seed);
    const auto bad = static_cast<std::size_t>(
        std::ranges::count_if(results, [](const RunResult* result) { return failed(*result); }));
    const bool interrupted =
        results.size() < files_[index].planned || std::ranges::any_of(results, &RunResult::interrupted);
    std::int64_t virtual_ms = 0;
    std::int64_t wall_ms = 0;
    std::uint64_t events = 0;
    for (const RunResult* result : results) {
        virtual_ms += result->virtual_ms;
        wall_ms += result->wall_ms;
        events += result->events;
    }
    std::string mark = painted(kGreen, "ok     ");
    if (bad > 0)
        mark = painted(kRed, "FAILED ");
    else if (interrupted)
        mark = painted(kYellow, "STOPPED");
    else if (!unproved_of_file(scenario, results).empty())
        mark = painted(kYellow, "VACUOUS");
    else if (!environment_.verbose)
        return;
    out_ << fmt::format("{} {:<{}}  {}  {} {}  {} events  {}", mark, shown_name(scenario), name_width_,
                        seeds_text(results), human_duration(virtual_ms), args_.real ? "real" : "virtual", events,
                        human_duration(wall_ms));
    if (bad > 0 && results.size() > 1) out_ << fmt::format("  ({} of {} seeds failed)", bad, results.size());
    out_ << '\n';
}

void Presenter::finish(const SweepOutcome& outcome, const std::vector<std::string>& unproved,
                       std::chrono::milliseconds wall) {
    // The sweep is over: its results have moved to the outcome.
    for (File& file : files_) file.results.clear();
    for (std::size_t i = 0; i < outcome.results.size(); ++i)
        files_[outcome.runs[i].scenario].results.push_back(&outcome.results[i]);
    if (!environment_.quiet) account(outcome, wall);
    if (!unproved.empty()) {
        out_ << painted(kYellow, "Left unproved")
             << " (a run counts only when it tested something; --allow-vacuous accepts it):\n";
        for (const std::string& sentence : unproved) out_ << "  " << sentence << '\n';
    }
    failures(outcome);
    out_.flush();
}

void Presenter::account(const SweepOutcome& outcome, std::chrono::milliseconds wall) {
    for (; shown_ < files_.size(); ++shown_) file_line(shown_);
    std::int64_t virtual_ms = 0;
    std::uint64_t events = 0;
    std::uint64_t bad = 0;
    std::uint64_t passed = 0;
    for (const RunResult& result : outcome.results) {
        virtual_ms += result.virtual_ms;
        events += result.events;
        bad += failed(result) ? 1 : 0;
        passed += result.passed && !result.interrupted ? 1 : 0;
    }
    if (environment_.verbose) out_ << '\n';
    out_ << fmt::format("{}: {} passed, {} failed. {} of {} time and {} in {}.\n",
                        counted(outcome.results.size(), "run"), passed, bad, human_duration(virtual_ms),
                        args_.real ? "real" : "virtual", counted(events, "event"), human_duration(wall.count()));
    if (outcome.interrupted)
        out_ << painted(kYellow, fmt::format("Interrupted: {} of {} runs were made.\n", outcome.results.size(),
                                             selection_.plan.size()));
    if (!environment_.verbose) {
        in_short(outcome);
    } else {
        checked(outcome);
        disturbed(outcome);
    }
    warnings();
}

void Presenter::warnings() {
    std::vector<std::string> lines;
    // The cells of a matrix say the same.
    const auto add = [&lines](std::string line) {
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    };
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const Scenario& scenario = selection_.scenarios[i];
        const auto& results = files_[i].results;
        // A counterexample is the same file; with what failed its warnings are told, too.
        if (scenario.counterexample || results.empty() || !std::ranges::all_of(results, &RunResult::passed)) continue;
        for (const LoadError& warning : warnings_of(scenario)) add(to_string(warning));
        for (const std::string& what : results.front()->in_vain)
            add(fmt::format("{}: {} changed nothing", scenario.file, what));
    }
    // Of a large folder the account stays short.
    if (lines.size() > kWarningsShownMax && !environment_.verbose) {
        out_ << fmt::format("{} (-v shows them, and so does lockstep validate).\n", counted(lines.size(), "warning"));
        return;
    }
    for (const std::string& line : lines) out_ << painted(kYellow, "warning") << ": " << line << '\n';
}

void Presenter::in_short(const SweepOutcome& outcome) {
    std::set<std::string> invariants;
    std::set<std::string> branches;
    std::uint64_t times = 0;
    std::uint64_t armed = 0;
    std::uint64_t effective = 0;
    for (const RunResult& result : outcome.results) {
        for (const auto& [name, count] : result.exercised) {
            if (count > 0) invariants.insert(name);
            times += count;
        }
        for (const auto& [name, count] : result.reached) branches.insert(name);
        for (const FaultCount& fault : result.faults) {
            armed += fault.armed > 0 ? 1 : 0;
            effective += fault.effective > 0 ? 1 : 0;
        }
    }
    std::string line =
        fmt::format("{} put to the test, {}", counted(invariants.size(), "invariant"), counted(times, "time"));
    if (armed > 0) line += fmt::format("; {} of {} took effect", effective, counted(armed, "fault"));
    if (!branches.empty())
        line += fmt::format("; {} reached", counted(branches.size(), "rare branch", "rare branches"));
    out_ << line << " (-v lists them).\n";
}

void Presenter::checked(const SweepOutcome& outcome) {
    std::map<std::string, std::uint64_t> exercised;
    std::map<std::string, std::uint64_t> reached;
    std::size_t width = 0;
    for (const RunResult& result : outcome.results) {
        for (const auto& [name, count] : result.exercised) exercised[name] += count;
        for (const auto& [name, count] : result.reached) reached[name] += count;
    }
    if (!exercised.empty()) {
        out_ << "Invariants checked, and how often each was put to the test:\n";
        for (const auto& [name, count] : exercised) width = std::max(width, name.size());
        // In the order of the manual, with what it means: the summary is where newcomers meet the names.
        for (const NamedItem& invariant : invariant_table()) {
            const auto found = exercised.find(std::string(invariant.name));
            if (found == exercised.end()) continue;
            out_ << fmt::format("  {:<{}} {:>8}  {}\n", invariant.name, width, found->second, invariant.help);
            exercised.erase(found);
        }
        // Invariants that a program has added (RunOptions::rules).
        for (const auto& [name, count] : exercised) out_ << fmt::format("  {:<{}} {:>8}\n", name, width, count);
    }
    reports::Histories histories;
    for (const RunResult& result : outcome.results) histories += result.histories;
    if (histories.held + histories.violated + histories.undecided > 0)
        out_ << fmt::format("Histories of jobs: {} held, {} violated, {} undecided (an answer never came).\n",
                            histories.held, histories.violated, histories.undecided);
    if (reached.empty()) return;
    out_ << "Rare branches reached:\n";
    width = 0;
    for (const auto& [name, count] : reached) width = std::max(width, name.size());
    for (const auto& [name, count] : reached) out_ << fmt::format("  {:<{}} {:>8}\n", name, width, count);
    // Of one file alone most are unreached, which says nothing about it.
    const auto unreached = unreached_branches(outcome.results);
    if (selection_.scenarios.size() > 1 && !unreached.empty())
        out_ << fmt::format("Rare branches that no run reached ({}): {}\n", unreached.size(),
                            fmt::join(unreached, ", "));
}

void Presenter::disturbed(const SweepOutcome& outcome) {
    std::map<std::string, FaultCount> by_kind;
    for (const RunResult& result : outcome.results) {
        for (const FaultCount& fault : result.faults) {
            FaultCount& sum = by_kind[fault.kind];
            sum.armed += fault.armed;
            sum.fired += fault.fired;
            sum.effective += fault.effective;
        }
    }
    if (by_kind.empty()) return;
    out_ << "Faults: armed, fired, and what they changed:\n";
    std::size_t width = 0;
    for (const auto& [kind, sum] : by_kind) width = std::max(width, kind.size());
    for (const auto& [kind, sum] : by_kind)
        out_ << fmt::format("  {:<{}} {:>6} armed {:>6} fired {:>8} effective\n", kind, width, sum.armed, sum.fired,
                            sum.effective);
}

void Presenter::failures(const SweepOutcome& outcome) {
    const auto all = failed_alike(selection_, outcome);
    const std::size_t told = std::min(all.size(), kFailuresShownMax);
    for (std::size_t i = 0; i < told; ++i) failure(all[i]);
    if (told < all.size()) out_ << '\n';
    for (std::size_t i = told; i < all.size(); ++i) out_ << heading(all[i]) << "\n  " << all[i].signature << '\n';
    if (all.size() < 2) return;  // of one, the verdict says how
    out_ << "\nTo replay:\n";
    for (const FailedAlike& failed : all) out_ << "  " << replay(failed) << '\n';
}

std::string Presenter::heading(const FailedAlike& failed) const {
    return fmt::format("{} {} {} ({})", painted(kRed, "FAILED"), failed.scenario->name, seeds_text(failed.results),
                       failed.scenario->file);
}

std::string Presenter::replay(const FailedAlike& failed, std::string_view subcommand) const {
    return replay_command(*failed.scenario, failed.first().seed, args_, build_, subcommand);
}

void Presenter::failure(const FailedAlike& failed) {
    const RunResult& result = failed.first();
    const bool several = failed.results.size() > 1;
    out_ << fmt::format("\n{}{}\n", heading(failed), several ? fmt::format("; with seed {}:", result.seed) : "");
    if (!result.error.empty()) out_ << fmt::format("  the harness itself failed: {}\n", result.error);
    for (const Violation& violation : result.violations) {
        for (const std::string& line : violation_lines(violation)) out_ << "  " << line << '\n';
        for (const std::string& line : last_lines(violation.story, kStoryLinesMax)) out_ << "    " << line << '\n';
    }
    for (const ExpectationOutcome& outcome : result.expectations)
        if (!outcome.held) out_ << "  " << missed_text(outcome) << '\n';
    for (const LoadError& warning : warnings_of(*failed.scenario)) out_ << "  warning: " << to_string(warning) << '\n';
    for (const std::string& what : result.in_vain) out_ << "  warning: " << what << " changed nothing\n";
    // Without a violation there is no story above; a counterexample is explained with its mechanism switched off by hand.
    if (result.error.empty() && result.violations.empty() && !failed.scenario->counterexample)
        out_ << "  explain: " << replay(failed, "explain") << '\n';
    out_ << "  replay: " << replay(failed) << '\n';
}

}  // namespace lockstep::sim::cli
