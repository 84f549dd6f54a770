#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/ports/rare_branches.h"
#include "sim/run/sweep.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using Results = std::span<const RunResult* const>;

bool all_passed(Results results) {
    return std::ranges::all_of(results, [](const RunResult* result) { return result->passed && !result->interrupted; });
}

std::uint64_t total(Results results, std::map<std::string, std::uint64_t> RunResult::* counts,
                    const std::string& name) {
    std::uint64_t sum = 0;
    for (const RunResult* result : results) {
        const auto found = (result->*counts).find(name);
        if (found != (result->*counts).end()) sum += found->second;
    }
    return sum;
}

/// Faults of the file by their place in it; those that chaos drew have none and are not promised to bite.
void judge_faults(const Scenario& scenario, Results results, std::vector<std::string>& sentences) {
    std::map<std::string, FaultCount> by_pointer;
    for (const Fault& fault : scenario.faults) by_pointer[fault.pointer].kind = fault.kind();
    for (const RunResult* result : results) {
        for (const FaultCount& count : result->faults) {
            const auto sum = by_pointer.find(count.pointer);
            if (sum == by_pointer.end()) continue;
            sum->second.armed += count.armed;
            sum->second.fired += count.fired;
            sum->second.effective += count.effective;
        }
    }
    for (const Fault& fault : scenario.faults) {
        const FaultCount& sum = by_pointer[fault.pointer];
        const auto* calls = fault.part<faults::OfCalls>();
        if (sum.effective == 0)
            sentences.push_back(fmt::format(
                "{}: the fault {} at {} never took effect (armed {}, fired {}): {}", scenario.file, fault.kind(),
                fault.pointer, sum.armed, sum.fired,
                sum.fired > 0 ? "nothing that it could hit came while it lasted" : "what it waits for never came"));
        else if (calls != nullptr && calls->count && sum.effective < *calls->count)
            sentences.push_back(fmt::format("{}: the fault {} at {} hit {} of its {} calls", scenario.file,
                                            fault.kind(), fault.pointer, sum.effective, *calls->count));
    }
}

/// What chaos drew, over all seeds: single draws may find nothing to disturb.
void judge_chaos(const Scenario& scenario, Results results, std::vector<std::string>& sentences) {
    if (!scenario.chaos) return;
    std::uint64_t armed = 0;
    std::uint64_t effective = 0;
    for (const RunResult* result : results) {
        for (const FaultCount& count : result->faults) {
            if (!count.pointer.empty()) continue;
            armed += count.armed;
            effective += count.effective;
        }
    }
    if (effective == 0)
        sentences.push_back(
            fmt::format("{}: of the faults that chaos drew ({}) none took effect", scenario.file, armed));
}

/// Tick locks are taken and given back where nothing is asked of the schedulers at all.
constexpr std::string_view kTestedByIdling = "nothing_leaks";

bool tests_nothing(const Scenario& scenario, Results results) {
    const Expectations& expect = scenario.expect;
    // Invariants that the file names are judged one by one.
    if (!expect.invariants.empty() || !expect.violated.empty() || !expect.states.empty() || !expect.jobs.empty() ||
        !expect.run_states.empty() || !expect.runs.empty() || !expect.steps.empty() || !expect.metrics.empty() ||
        !expect.measures.empty() || !expect.events.empty() || !expect.dead_letters.empty() || !expect.redis.empty() ||
        !expect.sometimes.empty())
        return false;
    return std::ranges::all_of(invariant_table(), [&](const NamedItem& invariant) {
        return invariant.name == kTestedByIdling ||
               total(results, &RunResult::exercised, std::string(invariant.name)) == 0;
    });
}

/// Where a file has all invariants watched, every job that it submits must have put one of them to the test.
void judge_jobs(const Scenario& scenario, Results results, std::vector<std::string>& sentences) {
    if (!scenario.expect.all_invariants || !scenario.expect.invariants_given) return;
    constexpr std::size_t kNamed = 3;
    std::vector<std::string> jobs;
    for (const std::string& job : results.front()->unjudged) {
        if (std::ranges::all_of(results, [&job](const RunResult* result) { return result->unjudged.contains(job); }))
            jobs.push_back(job);
    }
    if (jobs.empty()) return;
    const std::size_t more = jobs.size() > kNamed ? jobs.size() - kNamed : 0;
    jobs.resize(jobs.size() - more);
    sentences.push_back(fmt::format("{}: no invariant was put to the test by {}{}", scenario.file,
                                    fmt::join(jobs, ", "), more == 0 ? "" : fmt::format(" and {} more jobs", more)));
}

/// The invariants whose precondition must have held in some run of the file.
std::vector<std::string> to_be_tested(const Scenario& scenario) {
    if (scenario.counterexample) return {};
    std::vector<std::string> names = scenario.expect.invariants;
    if (!scenario.proves) return names;
    for (const std::string& name : scenario.proves->violated)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    return names;
}

}  // namespace

std::vector<std::string> unproved_of_file(const Scenario& scenario, Results results) {
    std::vector<std::string> sentences;
    if (results.empty() || !all_passed(results)) return sentences;
    // A counterexample ends where its invariant breaks; what it would have come to is of no interest.
    if (!scenario.counterexample) {
        judge_faults(scenario, results, sentences);
        judge_chaos(scenario, results, sentences);
        judge_jobs(scenario, results, sentences);
        if (tests_nothing(scenario, results))
            sentences.push_back(
                fmt::format("{}: nothing was put to the test: no job brought up an invariant, and nothing is expected",
                            scenario.file));
    }
    for (const std::string& invariant : to_be_tested(scenario)) {
        if (total(results, &RunResult::exercised, invariant) == 0)
            sentences.push_back(
                fmt::format("{}: the invariant {} was never put to the test", scenario.file, invariant));
    }
    for (const std::string& mark : scenario.expect.sometimes) {
        if (total(results, &RunResult::reached, mark) == 0)
            sentences.push_back(
                fmt::format("{}: no seed reached \"{}\", which `sometimes` expects", scenario.file, mark));
    }
    for (const std::string& sentence : results.front()->vacuous) {
        const bool everywhere = std::ranges::all_of(results, [&](const RunResult* result) {
            return std::ranges::find(result->vacuous, sentence) != result->vacuous.end();
        });
        if (everywhere) sentences.push_back(fmt::format("{}: {}", scenario.file, sentence));
    }
    return sentences;
}

std::vector<std::string> unproved_of_selection(const SweepOutcome& outcome) {
    std::vector<const RunResult*> results;
    for (const RunResult& result : outcome.results) results.push_back(&result);
    std::vector<std::string> sentences;
    if (!all_passed(results)) return sentences;
    for (const NamedItem& invariant : invariant_table()) {
        if (invariant.available && total(results, &RunResult::exercised, std::string(invariant.name)) == 0)
            sentences.push_back(fmt::format(
                "the invariant {} was never put to the test by any scenario of the selection", invariant.name));
    }
    return sentences;
}

std::vector<std::string> unreached_branches(std::span<const RunResult> results) {
    std::vector<std::string> names;
    for (const std::string_view branch : engine::kRareBranches) {
        const std::string name(branch);
        if (std::ranges::none_of(results, [&](const RunResult& result) { return result.reached.contains(name); }))
            names.push_back(name);
    }
    return names;
}

}  // namespace lockstep::sim
