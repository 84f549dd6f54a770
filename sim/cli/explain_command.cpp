#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "engine/config/nearest.h"
#include "sim/cli/commands.h"
#include "sim/cli/run_page.h"
#include "sim/cli/selection.h"
#include "sim/cli/violation_text.h"
#include "sim/explain/explanation.h"
#include "sim/run/expectations.h"
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

/// The first job that did not come to what the file expects of it; empty = there is none.
std::string disappointing_job(const Expectations& expect, const RunResult& result) {
    for (const auto& [job, state] : expect.jobs) {
        const auto outcome =
            std::ranges::find(result.expectations, expected_of_job(job, state), &ExpectationOutcome::expected);
        if (outcome != result.expectations.end() && !outcome->held) return job;
    }
    return {};
}

class Explainer {
public:
    Explainer(const ExplainArgs& args, const Scenario& scenario, const RunResult& result, std::ostream& out)
        : args_(args),
          wanted_(args.job.empty() ? disappointing_job(scenario.expect, result) : args.job),
          result_(result),
          history_(*result.history),
          causality_(history_),
          out_(out) {}

    void tell() {
        const Violation* violation = result_.violations.empty() ? nullptr : &result_.violations.front();
        if (violation != nullptr) {
            for (const std::string& line : violation_lines(*violation)) out_ << line << '\n';
            for (std::size_t i = 1; i < result_.violations.size(); ++i)
                out_ << fmt::format("also: {}\n", violation_lines(result_.violations[i]).front());
        }
        for (const ExpectationOutcome& expectation : result_.expectations) {
            if (!expectation.held)
                out_ << fmt::format("expected {}, got {}\n", expectation.expected, expectation.actual);
        }
        const bool of_violation = violation != nullptr && (args_.job.empty() || args_.job == violation->job);
        of_violation ? tell_of(story_of(*violation, history_)) : tell_of_job();
    }

private:
    void tell_of_job() {
        auto jobs = jobs_of(history_);
        if (jobs.empty()) {
            out_ << "No job was submitted.\n";
            return;
        }
        const bool there = std::ranges::find(jobs, wanted_) != jobs.end();
        const std::string job = there ? wanted_ : jobs.front();
        tell_of({job, {}, false});
        if (args_.job.empty() && jobs.size() > 1) tell_of_others(std::move(jobs), job);
    }

    void tell_of_others(std::vector<std::string> jobs, const std::string& told) {
        constexpr std::size_t kNamedMax = 5;
        std::erase(jobs, told);
        const std::size_t others = jobs.size();
        jobs.resize(std::min(others, kNamedMax));
        out_ << fmt::format("\n{} other jobs; --job tells of one: {}{}\n", others, fmt::join(jobs, ", "),
                            others > kNamedMax ? ", ..." : "");
    }

    void tell_of(StoryChoice choice) {
        choice.other_jobs = args_.other_jobs;
        const JobStory story(history_, causality_, choice);
        out_ << (choice.job.empty() ? "\nWhat led to it" : fmt::format("\nThe story of {}", choice.job))
             << (args_.by_time ? ":\n" : ", node by node:\n");
        for (const std::string& line : args_.by_time ? story.by_time() : story.by_node()) out_ << line << '\n';
    }

    const ExplainArgs& args_;
    const std::string wanted_;  // whose story; empty = the first job's
    const RunResult& result_;
    const History& history_;
    const Causality causality_;
    std::ostream& out_;
};

std::string replay_line(const ExplainArgs& args, std::uint64_t seed) {
    SelectionArgs selection;
    selection.overrides = args.overrides;
    selection.without = args.without;
    Scenario scenario;
    scenario.file = args.file;
    return replay_command(scenario, seed, selection);
}

}  // namespace

Exit explain_command(const ExplainArgs& args, const Environment& environment) {
    if (!mechanisms_known(args.without, environment)) return Exit::usage;
    const auto loaded = load_replayable(args.file, {.overrides = args.overrides, .without = args.without});
    if (!loaded) {
        environment.err << fmt::format("lockstep: {}\n", loaded.error());
        return Exit::usage;
    }
    const std::uint64_t seed = args.seed.value_or(loaded->failure.seed);
    if (environment.note_run) environment.note_run("lockstep explain " + shell_quoted(args.file));
    RunOptions options;
    options.stop = environment.stop;
    options.history = true;
    const RunResult result = environment.runner(loaded->scenario, seed, options);
    if (result.interrupted) return Exit::interrupted;
    if (!result.error.empty() || !result.history) {
        environment.err << fmt::format("lockstep: the harness itself failed: {}\n", result.error);
        return Exit::harness;
    }
    if (!args.job.empty() && result.history->texts.find(args.job) == 0) {
        environment.err << fmt::format("lockstep: --job: this run has no job \"{}\"{}\n", args.job,
                                       engine::suggestion(args.job, jobs_of(*result.history)));
        return Exit::usage;
    }
    environment.out << fmt::format("{}, seed {}, {} events, digest {}: {}\n\n", loaded->scenario.name, seed,
                                   result.events, reports::digest_text(result.digest),
                                   result.passed ? "it holds" : "it FAILS");
    Explainer(args, loaded->scenario, result, environment.out).tell();
    if (!args.html.empty() && !write_page(args.html, result, replay_line(args, seed), environment)) return Exit::usage;
    if (loaded->is_scenario_file) environment.out << fmt::format("\nreplay: {}\n", replay_line(args, seed));
    return result.passed ? Exit::passed : Exit::violated;
}

}  // namespace lockstep::sim::cli
