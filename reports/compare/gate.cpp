#include "reports/compare/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "reports/compare/words.h"

namespace lockstep::reports {

namespace {

/// Scenario by name, seed.
using GateKey = std::pair<std::string, std::uint64_t>;

struct Side {
    explicit Side(const Comparison& of) : comparison(of) {
        for (const ComparedRun& run : of.runs)
            runs[of.variants[run.variant].name][{of.scenarios[run.scenario].name, run.seed}] = &run;
        for (std::size_t i = 0; i < of.measures.size(); ++i) measures[of.measures[i].name] = i;
    }

    const Comparison& comparison;
    std::map<std::string, std::map<GateKey, const ComparedRun*>> runs;  // by variant
    std::map<std::string, std::size_t> measures;
};

std::set<std::string> names_of_variants(const Comparison& comparison) {
    std::set<std::string> out;
    for (const ComparedVariant& variant : comparison.variants) out.insert(variant.name);
    return out;
}

std::set<std::string> names_of_scenarios(const Comparison& comparison) {
    std::set<std::string> out;
    for (const ComparedScenario& scenario : comparison.scenarios) out.insert(scenario.name);
    return out;
}

/// There is one for each rare branch that some run has reached.
bool is_of_a_branch(const Measure& measure) { return measure.name.starts_with("times_reached."); }

std::set<std::string> described_measures(const Comparison& comparison) {
    std::set<std::string> out;
    for (const Measure& measure : comparison.measures)
        if (!is_of_a_branch(measure))
            out.insert(fmt::format("{} in {}{}", measure.name, measure.unit,
                                   measure.better == Measure::Better::higher ? ", higher is better" : ""));
    return out;
}

/// "a is only in the baseline", or empty where both hold the same.
std::string only_in_one(const std::set<std::string>& baseline, const std::set<std::string>& now) {
    for (const std::string& one : baseline)
        if (!now.contains(one)) return fmt::format("{} is only in the baseline", in_quotes(one));
    for (const std::string& one : now)
        if (!baseline.contains(one)) return fmt::format("{} is not in the baseline", in_quotes(one));
    return "";
}

std::string changed_scenario(const Comparison& baseline, const Comparison& now) {
    std::map<std::string, std::string> hashes;
    for (const ComparedScenario& scenario : baseline.scenarios) hashes[scenario.name] = scenario.hash;
    for (const ComparedScenario& scenario : now.scenarios)
        if (hashes[scenario.name] != scenario.hash)
            return fmt::format("the content of {} has changed", in_quotes(scenario.name));
    return "";
}

std::string missing_runs(const Side& baseline, const Side& now) {
    for (const auto& [variant, runs] : baseline.runs) {
        const auto other = now.runs.find(variant);
        for (const auto& [key, run] : runs)
            if (other == now.runs.end() || !other->second.contains(key))
                return fmt::format("{} with seed {} of {} was not run", key.first, key.second, in_quotes(variant));
        if (other->second.size() > runs.size())
            return fmt::format("{} has runs that are not in the baseline", in_quotes(variant));
    }
    return baseline.runs.empty() ? "the baseline has no runs" : "";
}

std::string seeds_that_differ(const Comparison& baseline, const Comparison& now) {
    const std::set<std::uint64_t> then(baseline.seeds.begin(), baseline.seeds.end());
    const std::set<std::uint64_t> today(now.seeds.begin(), now.seeds.end());
    return then == today ? "" : fmt::format("{} in the baseline, {} now", counted(then.size(), "seed"), today.size());
}

GateOutcome outcome_of(const Effect& effect, double threshold) {
    const Interval worsening = effect.worsening_interval();
    if (worsening.known() && worsening.low > threshold) return GateOutcome::worse;
    if (!worsening.known() && effect.kind == Effect::Kind::worse) return GateOutcome::worse;
    const auto all = static_cast<double>(effect.pairs + effect.one_sided);
    if (static_cast<double>(effect.one_sided) > threshold * all) return GateOutcome::straddles;
    if (worsening.known()) return worsening.high <= threshold ? GateOutcome::held : GateOutcome::straddles;
    return effect.kind == Effect::Kind::noise ? GateOutcome::straddles : GateOutcome::held;
}

std::string sentence_of(const GateLine& line, const std::string& unit) {
    const Effect& effect = line.effect;
    if (effect.kind == Effect::Kind::none && effect.one_sided == 0)
        return fmt::format("{} of {}: nothing of the kind in any run.", line.measure, in_quotes(line.variant));
    std::string out = fmt::format("{} of {}: ", line.measure, in_quotes(line.variant));
    if (effect.kind == Effect::Kind::none)
        out += "no run has it on both sides";
    else if (effect.kind == Effect::Kind::same)
        out += fmt::format("the same, {}", quantity_text(effect.mean, unit));
    else
        out += change_text(effect, unit);
    if (const std::string interval = interval_text(effect, unit);
        !interval.empty() && effect.kind != Effect::Kind::same)
        out += fmt::format(", between {}", interval);
    if (effect.one_sided > 0) out += fmt::format("; {} on one side only", counted(effect.one_sided, "run"));
    const std::string allowed = percent_text(line.threshold);
    switch (line.outcome) {
        case GateOutcome::held: return out + ".";
        case GateOutcome::worse: return fmt::format("{}; that is worse than the {} allowed.", out, allowed);
        default: break;
    }
    if (effect.kind == Effect::Kind::noise && !effect.difference_interval.known())
        return fmt::format("{}; {} are too few to tell, at least {} are needed.", out, counted(effect.seeds, "seed"),
                           kSeedsMin);
    return fmt::format("{}; whether it is worse than the {} allowed is not settled: run more seeds.", out, allowed);
}

/// Runs that fail now and did not before: no interval is needed.
GateLine failures_line(const std::string& variant, const Side& baseline, const Side& now) {
    const auto failed = [](const auto& runs) {
        return static_cast<std::size_t>(
            std::ranges::count_if(runs, [](const auto& run) { return !run.second->passed; }));
    };
    const std::size_t then = failed(baseline.runs.at(variant));
    const std::size_t today = failed(now.runs.at(variant));
    GateLine line{variant, "failed runs"};
    line.outcome = today > then ? GateOutcome::worse : GateOutcome::held;
    line.text = fmt::format("failed runs of {}: {} in the baseline, {} now.", in_quotes(variant), then, today);
    for (const auto& [key, run] : now.runs.at(variant))
        if (!run->passed && line.outcome == GateOutcome::worse) {
            line.text += fmt::format(" First: {} with seed {}: {}", key.first, key.second, run->problem);
            break;
        }
    return line;
}

GateLine measure_line(const std::string& variant, const Measure& measure, const Side& baseline, const Side& now,
                      double threshold) {
    std::vector<PairedValues> pairs;
    for (const auto& [key, run] : baseline.runs.at(variant))
        pairs.push_back({key.second, value_of(*run, baseline.measures.at(measure.name)),
                         value_of(*now.runs.at(variant).at(key), now.measures.at(measure.name))});
    GateLine line{variant, measure.name, threshold};
    line.effect = effect_of(pairs, measure.better, threshold);
    line.outcome = outcome_of(line.effect, threshold);
    line.text = sentence_of(line, measure.unit);
    return line;
}

/// The gravest of the lines.
GateOutcome gravest(const std::vector<GateLine>& lines) {
    for (const GateOutcome outcome : {GateOutcome::worse, GateOutcome::straddles})
        if (std::ranges::find(lines, outcome, &GateLine::outcome) != lines.end()) return outcome;
    return GateOutcome::held;
}

}  // namespace

GateThresholds thresholds_of(const Criteria& criteria) { return {criteria.limits, criteria.threshold}; }

std::string unlike(const Comparison& then, const Comparison& today) {
    if (!then.complete) return "the baseline was interrupted: some of its runs are missing";
    if (!today.complete) return "this comparison was interrupted: some of its runs are missing";
    const std::pair<const char*, std::string> differences[] = {
        {"variants", only_in_one(names_of_variants(then), names_of_variants(today))},
        {"scenarios", only_in_one(names_of_scenarios(then), names_of_scenarios(today))},
        {"scenarios", changed_scenario(then, today)},
        {"seeds", seeds_that_differ(then, today)},
        {"measures", only_in_one(described_measures(then), described_measures(today))},
        {"runs", missing_runs(Side(then), Side(today))}};
    for (const auto& [what, difference] : differences)
        if (!difference.empty()) return fmt::format("the {} differ: {}", what, difference);
    return "";
}

GateResult gate(const Comparison& baseline, const Comparison& now, const GateThresholds& thresholds) {
    const Side then(baseline);
    const Side today(now);
    GateResult result;
    if (const std::string difference = unlike(baseline, now); !difference.empty()) {
        result.outcome = GateOutcome::unlike;
        result.problem = fmt::format(
            "the baseline cannot be compared with these runs: {}; make it anew with the same "
            "scenarios, seeds and measures",
            difference);
        return result;
    }
    for (const ComparedVariant& variant : now.variants) {
        result.lines.push_back(failures_line(variant.name, then, today));
        for (const Measure& measure : now.measures) {
            if (measure.better == Measure::Better::neither || !then.measures.contains(measure.name)) continue;
            const auto found = thresholds.by_measure.find(measure.name);
            const double threshold = found == thresholds.by_measure.end() ? thresholds.otherwise : found->second;
            result.lines.push_back(measure_line(variant.name, measure, then, today, threshold));
        }
    }
    result.outcome = gravest(result.lines);
    return result;
}

std::string gate_text(const GateResult& result) {
    if (result.outcome == GateOutcome::unlike) return result.problem + "\n";
    std::string out;
    std::size_t worse = 0;
    std::size_t open = 0;
    for (const GateLine& line : result.lines) {
        if (line.outcome == GateOutcome::held) continue;
        (line.outcome == GateOutcome::worse ? worse : open) += 1;
        out += fmt::format("{}: {}\n", line.outcome == GateOutcome::worse ? "worse" : "not settled", line.text);
    }
    const std::size_t held = result.lines.size() - worse - open;
    return fmt::format("{}{} held, {} worse, {} not settled\n", out, held, worse, open);
}

}  // namespace lockstep::reports
