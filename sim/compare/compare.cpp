#include "sim/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "sim/measure/catalogue.h"
#include "sim/measure/measured_run.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kPointsMax = 400;  // of a distribution: finer than any picture

using Pair = std::pair<std::size_t, std::uint64_t>;  // scenario and seed

/// All variants of a pair one after the other, so that an interruption cuts few pairs.
std::vector<PlannedRun> planned(const ComparisonPlan& plan, const ComparedWorlds& worlds,
                                const CompareOptions& options) {
    std::vector<PlannedRun> runs;
    std::uint64_t number = 0;
    for (std::size_t scenario = 0; scenario < worlds.scenarios.size(); ++scenario) {
        for (std::uint64_t i = 0; i < plan.seeds; ++i, ++number) {
            const std::uint64_t seed = plan.first_seed + i;
            if (!options.shard.holds(number) || options.done.contains({scenario, seed})) continue;
            for (std::size_t variant = 0; variant < plan.variants.size(); ++variant)
                runs.push_back({scenario * plan.variants.size() + variant, seed});
        }
    }
    return runs;
}

std::string problem_of(const RunResult& result) {
    if (!result.error.empty()) return result.error;
    if (!result.violations.empty())
        return fmt::format("{}: {}", result.violations.front().invariant, result.violations.front().detail);
    const auto broken = std::ranges::find(result.expectations, false, &ExpectationOutcome::held);
    return broken == result.expectations.end() ? std::string{} : missed_text(*broken);
}

/// The pairs that were run in every variant.
std::set<Pair> whole_pairs(const SweepOutcome& outcome, std::size_t variants) {
    std::map<Pair, std::size_t> counts;
    for (std::size_t i = 0; i < outcome.results.size(); ++i)
        if (!outcome.results[i].interrupted) ++counts[{outcome.runs[i].scenario / variants, outcome.runs[i].seed}];
    std::set<Pair> whole;
    for (const auto& [pair, count] : counts)
        if (count == variants) whole.insert(pair);
    return whole;
}

std::vector<std::string> names_of_measures(const ComparisonPlan& plan, const std::vector<const RunResult*>& results) {
    std::set<std::string> taken;
    for (const RunResult* result : results) {
        if (!result->measured) continue;
        for (const auto& [name, value] : result->measured->values) taken.insert(name);
    }
    std::vector<std::string> names(taken.begin(), taken.end());
    sort_measures(names);
    if (plan.measures.empty()) return names;
    // What better means is always shown, and what must not become worse.
    std::set<std::string> wanted(plan.measures.begin(), plan.measures.end());
    wanted.insert(plan.criteria.objectives.begin(), plan.criteria.objectives.end());
    for (const auto& [name, limit] : plan.criteria.limits) wanted.insert(name);
    for (const std::string& name : names)
        if (find_measure(name)->guard) wanted.insert(name);
    names.assign(wanted.begin(), wanted.end());
    sort_measures(names);
    return names;
}

reports::Distribution distribution_of(std::size_t variant, const std::string& name, std::vector<double> samples) {
    reports::Distribution made;
    made.variant = variant;
    made.measure = name;
    made.unit = std::string(find_measure(name + ".mean")->unit);
    made.samples = samples.size();
    std::ranges::sort(samples);
    const std::size_t points = std::min(samples.size(), kPointsMax);
    for (std::size_t i = 1; i <= points; ++i) {
        const std::size_t rank = i * samples.size() / points;
        made.points.emplace_back(samples[rank - 1], static_cast<double>(rank) / static_cast<double>(samples.size()));
    }
    return made;
}

/// By variant and name.
using Samples = std::map<std::pair<std::size_t, std::string>, std::vector<double>>;

class Gathering {
public:
    Gathering(const ComparisonPlan& plan, const ComparedWorlds& worlds) : plan_(plan), worlds_(worlds) { head(); }

    void add(const SweepOutcome& outcome) {
        const std::size_t variants = plan_.variants.size();
        const std::set<Pair> whole = whole_pairs(outcome, variants);
        std::vector<const RunResult*> results;
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < outcome.results.size(); ++i) {
            if (!whole.contains({outcome.runs[i].scenario / variants, outcome.runs[i].seed})) continue;
            results.push_back(&outcome.results[i]);
            kept.push_back(i);
        }
        const std::vector<std::string> names = names_of_measures(plan_, results);
        for (const std::string& name : names) made_.measures.push_back(describe_measure(name));
        for (const std::size_t i : kept) add_run(outcome.runs[i], outcome.results[i], names);
        for (auto& [which, samples] : samples_)
            made_.distributions.push_back(distribution_of(which.first, which.second, std::move(samples)));
        made_.complete = !outcome.interrupted;
    }
    [[nodiscard]] reports::Comparison take() { return std::move(made_); }

private:
    void head() {
        made_.title = plan_.title;
        made_.question = plan_.question;
        made_.file = plan_.file;
        made_.not_shared = worlds_.not_shared;
        made_.scenarios = worlds_.scenarios;
        made_.criteria = plan_.criteria;
        made_.axes = plan_.axes;
        for (const VariantPlan& variant : plan_.variants)
            made_.variants.push_back({variant.name, {variant.settings.begin(), variant.settings.end()}});
        for (std::uint64_t i = 0; i < plan_.seeds; ++i) made_.seeds.push_back(plan_.first_seed + i);
    }

    void add_run(const PlannedRun& planned, const RunResult& result, const std::vector<std::string>& names) {
        const std::size_t variant = planned.scenario % plan_.variants.size();
        const std::size_t scenario = planned.scenario / plan_.variants.size();
        reports::ComparedRun run{.variant = variant,
                                 .scenario = scenario,
                                 .seed = planned.seed,
                                 .digest = result.digest,
                                 .passed = result.passed,
                                 .problem = problem_of(result),
                                 .values = {}};
        static const MeasuredRun kNothing;
        const MeasuredRun& measured = result.measured ? *result.measured : kNothing;
        for (const std::string& name : names)
            run.values.push_back(value_in(measured, name).value_or(std::numeric_limits<double>::quiet_NaN()));
        made_.runs.push_back(std::move(run));
        for (const auto& [name, samples] : measured.samples) {
            auto& all = samples_[{variant, name}];
            all.insert(all.end(), samples.begin(), samples.end());
        }
        // One world for the picture: the first that there is.
        if (!pictured_) pictured_ = Pair{scenario, planned.seed};
        if (*pictured_ != Pair{scenario, planned.seed}) return;
        made_.courses.push_back({variant, measured.step_ms, measured.backlog, measured.retries});
        if (variant == 0) made_.faults = measured.faults;
    }

    const ComparisonPlan& plan_;
    const ComparedWorlds& worlds_;
    reports::Comparison made_;
    Samples samples_;
    std::optional<Pair> pictured_;
};

}  // namespace

std::size_t count_runs(const ComparisonPlan& plan, const ComparedWorlds& worlds, const CompareOptions& options) {
    return planned(plan, worlds, options).size();
}

reports::Comparison compare(const ComparisonPlan& plan, const ComparedWorlds& worlds, const Runner& runner,
                            const CompareOptions& options) {
    SweepOptions sweeping;
    sweeping.threads = options.threads;
    sweeping.run.stop = options.stop;
    sweeping.run.measure = true;
    sweeping.run.explain = false;
    sweeping.on_start = options.on_start;
    sweeping.on_result = options.on_result;
    Gathering gathering(plan, worlds);
    gathering.add(sweep(worlds.worlds, planned(plan, worlds, options), runner, sweeping));
    return gathering.take();
}

}  // namespace lockstep::sim
