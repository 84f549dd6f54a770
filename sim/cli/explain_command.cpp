#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/config/nearest.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/json_output.h"
#include "sim/cli/run_page.h"
#include "sim/cli/selection.h"
#include "sim/cli/verdict.h"
#include "sim/cli/violation_text.h"
#include "sim/explain/explanation.h"
#include "sim/run/sweep.h"
#include "sim/search/failure.h"

namespace lockstep::sim::cli {

namespace {

/// The jobs of a run, in the order in which they were first heard of.
std::vector<std::string> jobs_of(const History& history) {
    std::vector<bool> seen(history.texts.size());
    std::vector<std::string> jobs;
    for (const HistoryEvent& event : history.events) {
        if (event.job == 0 || seen[event.job]) continue;
        seen[event.job] = true;
        jobs.push_back(history.text(event.job));
    }
    return jobs;
}

/// The job that took longest from when it was first heard of to its last state.
std::string slowest_job(const History& history) {
    std::map<TextId, std::pair<std::int64_t, std::int64_t>> spans;
    for (const HistoryEvent& event : history.events) {
        if (event.job == 0) continue;
        auto& [first, last] = spans.try_emplace(event.job, event.ns, event.ns).first->second;
        if (event.kind == fakes::EventKind::state) last = event.ns;
    }
    const auto slowest =
        std::ranges::max_element(spans, {}, [](const auto& span) { return span.second.second - span.second.first; });
    return slowest == spans.end() ? std::string{} : history.text(slowest->first);
}

/// The first job that shows that something did not come to what the file expects, or else the first that did not end well or the one
/// that took longest; empty = there is none.
std::string disappointing_job(const RunResult& result, const std::vector<std::string>& jobs) {
    for (const ExpectationOutcome& one : result.expectations) {
        if (!one.job.empty()) return one.job;
        if (one.jobs_of.empty()) continue;
        // Of the step, or else of its run. The last of them: of a step's tries that is what it came to.
        for (const std::string& prefix : {one.jobs_of, one.jobs_of.substr(0, one.jobs_of.find(':') + 1)}) {
            const auto of = std::ranges::find_if(jobs.rbegin(), jobs.rend(),
                                                 [&](const std::string& job) { return job.starts_with(prefix); });
            if (of != jobs.rend()) return *of;
        }
    }
    if (result.passed) return {};
    return result.bad_ends.empty() ? slowest_job(*result.history) : result.bad_ends.front().job;
}

/// Jobs that came to the same, for the same reason but for numbers.
struct EndedAlike {
    std::string what;  // "FAILED: no worker has been found in 50 tries"
    std::vector<std::string> jobs;
};

std::vector<EndedAlike> ended_alike(const std::vector<JobEnd>& ends) {
    std::vector<EndedAlike> all;
    std::map<std::string, std::size_t> known;
    for (const JobEnd& end : ends) {
        const std::string state = end.state.empty() ? "unknown to Redis" : end.state;
        const std::string what = end.reason.empty() ? state : fmt::format("{}: {}", state, end.reason);
        const auto [entry, fresh] = known.try_emplace(without_names(what), all.size());
        if (fresh) all.push_back({what, {}});
        all[entry->second].jobs.push_back(end.job);
    }
    return all;
}

class Explainer {
public:
    Explainer(const ExplainArgs& args, const RunResult& result, std::ostream& out)
        : args_(args),
          result_(result),
          history_(*result.history),
          wanted_(args.job.empty() ? disappointing_job(result, jobs_of(history_)) : args.job),
          causality_(history_),
          out_(out) {}

    /// What `tell` tells, as lists.
    [[nodiscard]] nlohmann::json document() const {
        const StoryChoice choice = chosen();
        nlohmann::json ends = nlohmann::json::array();
        for (const JobEnd& end : result_.bad_ends)
            ends.push_back({{"job", end.job}, {"state", end.state}, {"reason", end.reason}});
        return {{"job", choice.job},
                {"jobs", jobs_of(history_)},
                {"not_succeeded", std::move(ends)},
                {"story", story_lines(choice)}};
    }

    /// Whose story it is; empty: the run has no job.
    [[nodiscard]] std::string job() const { return chosen().job; }

    void tell() {
        const Violation* violation = result_.violations.empty() ? nullptr : &result_.violations.front();
        if (violation != nullptr) {
            for (const std::string& line : violation_lines(*violation)) out_ << line << '\n';
            for (std::size_t i = 1; i < result_.violations.size(); ++i)
                out_ << fmt::format("also: {}\n", violation_lines(result_.violations[i]).front());
        }
        for (const ExpectationOutcome& expectation : result_.expectations) {
            if (!expectation.held) out_ << missed_text(expectation) << '\n';
        }
        tell_of_ends();
        const StoryChoice choice = chosen();
        auto jobs = jobs_of(history_);
        if (!of_violation() && jobs.empty()) {
            out_ << "No job was submitted.\n";
            return;
        }
        tell_of(choice);
        if (!of_violation() && args_.job.empty() && jobs.size() > 1) tell_of_others(std::move(jobs), choice.job);
    }

private:
    [[nodiscard]] bool of_violation() const {
        return !result_.violations.empty() && (args_.job.empty() || args_.job == result_.violations.front().job);
    }

    /// What is told of: the first violation, or else a job. Of a run without jobs nothing.
    [[nodiscard]] StoryChoice chosen() const {
        StoryChoice choice{{}, {}, false};
        if (of_violation()) {
            choice = story_of(result_.violations.front(), history_);
        } else if (const auto jobs = jobs_of(history_); !jobs.empty()) {
            choice.job = std::ranges::find(jobs, wanted_) != jobs.end() ? wanted_ : jobs.front();
        }
        choice.other_jobs = args_.other_jobs;
        return choice;
    }

    [[nodiscard]] std::vector<std::string> story_lines(const StoryChoice& choice) const {
        if (!of_violation() && choice.job.empty()) return {};
        const JobStory story(history_, causality_, choice);
        return args_.by_time ? story.by_time() : story.by_node();
    }

    /// What the jobs came to that did not succeed.
    void tell_of_ends() {
        constexpr std::size_t kNamedMax = 5;
        for (const EndedAlike& alike : ended_alike(result_.bad_ends)) {
            std::vector<std::string> named = alike.jobs;
            named.resize(std::min(named.size(), kNamedMax));
            out_ << fmt::format("{} {}, {}: {}{}\n", alike.jobs.size(), alike.jobs.size() == 1 ? "job" : "jobs",
                                alike.what, fmt::join(named, ", "), alike.jobs.size() > kNamedMax ? ", ..." : "");
        }
    }

    void tell_of_others(std::vector<std::string> jobs, const std::string& told) {
        constexpr std::size_t kNamedMax = 5;
        std::erase(jobs, told);
        const std::size_t others = jobs.size();
        jobs.resize(std::min(others, kNamedMax));
        out_ << fmt::format("\n{} other jobs; --job tells of one: {}{}\n", others, fmt::join(jobs, ", "),
                            others > kNamedMax ? ", ..." : "");
    }

    void tell_of(const StoryChoice& choice) {
        out_ << (choice.job.empty() ? "\nWhat led to it" : fmt::format("\nThe story of {}", choice.job))
             << (args_.by_time ? ":\n" : ", node by node:\n");
        for (const std::string& line : story_lines(choice)) out_ << line << '\n';
    }

    const ExplainArgs& args_;
    const RunResult& result_;
    const History& history_;
    const std::string wanted_;  // whose story; empty = the first job's
    const Causality causality_;
    std::ostream& out_;
};

/// A failure file that nothing has changed replays as such.
std::string replay_line(const ExplainArgs& args, bool scenario_file, std::uint64_t seed, const std::string& build) {
    const bool changed = args.seed || !args.overrides.empty() || !args.without.empty();
    if (!scenario_file && !changed) return "lockstep replay " + shell_quoted(args.file);
    SelectionArgs selection;
    selection.overrides = args.overrides;
    selection.without = args.without;
    Scenario scenario;
    scenario.file = args.file;
    return replay_command(scenario, seed, selection, build, scenario_file ? "run" : "explain");
}

}  // namespace

Exit explain_command(const ExplainArgs& args, const Environment& environment) {
    if (!mechanisms_known(args.without, environment)) return Exit::usage;
    const auto loaded = load_replayable(args.file, {.overrides = args.overrides, .without = args.without});
    if (!loaded) {
        environment.err << fmt::format("lockstep: {}\n", loaded.error());
        return Exit::usage;
    }
    note_other_build(args.recorded_by.empty() ? args.file : "this command",
                     args.recorded_by.empty() ? loaded->failure.build : args.recorded_by, environment);
    const std::uint64_t seed = args.seed.value_or(loaded->failure.seed);
    const std::string build = build_name(environment);
    CrashGuard crash("explain", spoken_reports(args.json, environment), environment);
    if (!crash.begin()) return Exit::usage;
    crash.started(loaded->scenario.name, seed, "lockstep explain " + shell_quoted(args.file));
    RunOptions options;
    options.stop = environment.stop;
    options.history = true;
    const RunResult result = environment.runner(loaded->scenario, seed, options);
    std::ostream& out = talk_of(args.json, environment);
    if (result.interrupted) {
        if (args.json) print_document(document_head("explain", Exit::interrupted, environment), environment);
        out << word_of(Exit::interrupted) << ": the run was not made to its end.\n";
        return Exit::interrupted;
    }
    if (!result.error.empty() || !result.history) {
        environment.err << fmt::format("lockstep: the harness itself failed: {}\n", result.error);
        return Exit::harness;
    }
    if (!args.job.empty() && result.history->texts.find(args.job) == 0) {
        environment.err << fmt::format("lockstep: --job: this run has no job \"{}\"{}\n", args.job,
                                       engine::suggestion(args.job, jobs_of(*result.history)));
        return Exit::usage;
    }
    out << fmt::format("{}, seed {}, {} events, digest {}: {}\n\n", loaded->scenario.name, seed, result.events,
                       reports::digest_text(result.digest), result.passed ? "it holds" : "it FAILS");
    for (const std::string& sentence : unproved_of_file(loaded->scenario, std::array{&result}))
        out << fmt::format("left unproved: {}\n", sentence);
    Explainer explainer(args, result, out);
    explainer.tell();
    const std::string replay = replay_line(args, loaded->is_scenario_file, seed, build);
    if (!args.html.empty() && !write_page(args.html, result, replay, environment)) return Exit::usage;
    if (!args.svg.empty() && !write_picture(args.svg, result, explainer.job(), environment)) return Exit::usage;
    const Exit exit = result.passed ? Exit::passed : Exit::violated;
    if (args.json) {
        nlohmann::json document = document_head("explain", exit, environment);
        document.update({{"file", args.file},
                         {"name", loaded->scenario.name},
                         {"seed", seed},
                         {"events", result.events},
                         {"digest", reports::digest_text(result.digest)},
                         {"violations", violations_json(result)},
                         {"expectations", expectations_json(result)},
                         {"replay", replay}});
        document.update(explainer.document());
        print_document(document, environment);
    }
    out << fmt::format("\n{}: {} under seed {} {}. Again:\n  {}\n", word_of(exit), loaded->scenario.name, seed,
                       result.passed ? "holds" : "fails", replay);
    return exit;
}

}  // namespace lockstep::sim::cli
