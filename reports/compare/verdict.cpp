#include "reports/compare/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "reports/compare/words.h"
#include "reports/run_report.h"

namespace lockstep::reports {

namespace {

std::optional<std::size_t> measure_named(const Comparison& comparison, const std::string& name) {
    const auto found = std::ranges::find(comparison.measures, name, &Measure::name);
    if (found == comparison.measures.end()) return std::nullopt;
    return static_cast<std::size_t>(found - comparison.measures.begin());
}

/// FNV-1a over the runs in the order of variant, scenario and seed, so that the order of arrival does not show.
std::string digest_of_runs(const Comparison& comparison) {
    std::vector<const ComparedRun*> runs;
    for (const ComparedRun& run : comparison.runs) runs.push_back(&run);
    const auto key = [](const ComparedRun* run) {
        return std::tuple(run->variant, run->scenario, run->seed, run->digest);
    };
    std::ranges::sort(runs, {}, key);
    std::uint64_t hash = 0xcbf29ce484222325U;
    const auto add = [&](std::uint64_t word) {
        for (unsigned shift = 0; shift < 64; shift += 8) hash = (hash ^ ((word >> shift) & 0xffU)) * 0x100000001b3U;
    };
    for (const ComparedRun* run : runs)
        for (const std::uint64_t word :
             {std::uint64_t{run->variant}, std::uint64_t{run->scenario}, run->seed, run->digest})
            add(word);
    return digest_text(hash);
}

std::string_view without_full_stop(std::string_view sentence) {
    if (sentence.ends_with('.')) sentence.remove_suffix(1);
    return sentence;
}

bool matters(const Effect& effect, Effect::Kind kind) { return effect.kind == kind && !effect.negligible; }

void judge_limit(Standing& standing, const Effect& effect, const Measure& measure, double limit) {
    const std::string phrase = fmt::format("{} ({}, at most {} worse allowed)", measure.name,
                                           difference_text(effect, measure.unit), percent_text(limit));
    const Interval worsening = effect.worsening_interval();
    if (worsening.known()) {
        if (worsening.low > limit)
            standing.broken[measure.name] = phrase;
        else if (worsening.high > limit)
            standing.unshown[measure.name] = phrase;
        return;
    }
    // Nothing to relate to, or too few seeds.
    if (effect.kind == Effect::Kind::worse)
        standing.broken[measure.name] = phrase;
    else if (effect.kind == Effect::Kind::noise)
        standing.unshown[measure.name] = phrase;
}

class Judgement {
public:
    explicit Judgement(const Comparison& comparison) : comparison_(comparison), runs_(comparison) {
        for (const std::string& name : comparison.criteria.objectives)
            if (const auto measure = measure_named(comparison, name)) analysis_.objectives.push_back(*measure);
        for (std::size_t variant = 0; variant < comparison.variants.size(); ++variant) add(variant);
        for (const ComparedRun& run : comparison.runs) count(run);
        for (std::size_t variant = 1; variant < comparison.variants.size(); ++variant) judge_limits(variant);
        analysis_.digest = digest_of_runs(comparison);
        set_front();
        set_pareto();
        decide();
    }

    Analysis analysis() && { return std::move(analysis_); }

private:
    void add(std::size_t variant) {
        std::vector<Effect> effects;
        std::vector<double> means;
        for (std::size_t measure = 0; measure < comparison_.measures.size(); ++measure) {
            effects.push_back(runs_.effect(0, variant, measure));
            means.push_back(runs_.mean(variant, measure));
        }
        analysis_.effects.push_back(std::move(effects));
        analysis_.means.push_back(std::move(means));
        analysis_.standings.emplace_back();
    }

    void count(const ComparedRun& run) {
        Standing& standing = analysis_.standings.at(run.variant);
        ++standing.runs;
        if (run.passed) return;
        if (standing.failed++ == 0)
            standing.problem =
                fmt::format("{} with seed {}: {}", comparison_.scenarios.at(run.scenario).name, run.seed,
                            run.problem.empty() ? "the run did not pass" : without_full_stop(run.problem));
    }

    void judge_limits(std::size_t variant) {
        for (const auto& [name, limit] : comparison_.criteria.limits)
            if (const auto measure = measure_named(comparison_, name))
                judge_limit(analysis_.standings[variant], analysis_.effects[variant][*measure],
                            comparison_.measures[*measure], limit);
    }

    /// A mean that can be compared: smaller is better, and what never happened is worst.
    [[nodiscard]] double cost(std::size_t variant, std::size_t measure) const {
        const double mean = analysis_.means[variant][measure];
        if (std::isnan(mean)) return std::numeric_limits<double>::infinity();
        return comparison_.measures[measure].better == Measure::Better::higher ? -mean : mean;
    }

    [[nodiscard]] bool is_same_in_all(std::size_t measure) const {
        return std::ranges::all_of(analysis_.effects, [measure](const std::vector<Effect>& effects) {
            return effects[measure].kind == Effect::Kind::same || effects[measure].kind == Effect::Kind::none;
        });
    }

    void set_front() {
        for (const std::size_t objective : analysis_.objectives)
            if (analysis_.front.size() < 2 && !is_same_in_all(objective)) analysis_.front.push_back(objective);
    }

    void set_pareto() {
        if (analysis_.front.size() < 2) return;
        const auto costs = [&](std::size_t variant) {
            return std::pair(cost(variant, analysis_.front[0]), cost(variant, analysis_.front[1]));
        };
        const auto stands = [&](std::size_t variant) {
            const Standing& standing = analysis_.standings[variant];
            return standing.runs > 0 && standing.failed == 0 && std::isfinite(costs(variant).first) &&
                   std::isfinite(costs(variant).second);
        };
        const auto beaten_by = [&](std::size_t variant, std::size_t other) {
            const auto [x, y] = costs(variant);
            const auto [other_x, other_y] = costs(other);
            return other_x <= x && other_y <= y && (other_x < x || other_y < y);
        };
        const std::size_t count = comparison_.variants.size();
        for (std::size_t variant = 0; variant < count; ++variant) {
            bool beaten = !stands(variant);
            for (std::size_t other = 0; other < count && !beaten; ++other)
                beaten = stands(other) && beaten_by(variant, other);
            if (!beaten) analysis_.verdict.pareto.push_back(variant);
        }
        std::ranges::sort(analysis_.verdict.pareto, {}, costs);
    }

    /// The first objective in which `variant` is better than the first variant by what matters, unless it is worse in one before.
    [[nodiscard]] std::optional<std::size_t> decisive(std::size_t variant) const {
        for (const std::size_t objective : analysis_.objectives) {
            const Effect& effect = analysis_.effects[variant][objective];
            if (is_reason(effect)) return objective;
            if (matters(effect, Effect::Kind::worse)) return std::nullopt;
        }
        return std::nullopt;
    }

    /// Better, and by no less than the threshold.
    [[nodiscard]] bool is_reason(const Effect& effect) const {
        const bool is_small =
            std::abs(effect.relative) < comparison_.criteria.threshold;  // false where there is nothing to relate to
        return matters(effect, Effect::Kind::better) && !is_small;
    }

    /// Guards that the variant makes worse, or better, than the first variant.
    [[nodiscard]] std::vector<std::size_t> guards(std::size_t variant, Effect::Kind kind) const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < comparison_.measures.size(); ++i)
            if (comparison_.measures[i].guard && analysis_.effects[variant][i].kind == kind) found.push_back(i);
        return found;
    }

    /// The first objective in which the variant is worse than the first one by what matters, and not better in one before.
    [[nodiscard]] std::optional<std::size_t> loses(std::size_t variant) const {
        for (const std::size_t objective : analysis_.objectives) {
            const Effect& effect = analysis_.effects[variant][objective];
            if (matters(effect, Effect::Kind::better)) return std::nullopt;
            if (matters(effect, Effect::Kind::worse)) return objective;
        }
        return std::nullopt;
    }

    [[nodiscard]] std::size_t best_of(std::vector<std::size_t> candidates) const {
        std::ranges::sort(candidates, {}, [&](std::size_t variant) {
            return std::pair(cost(variant, analysis_.objectives[0]), variant);
        });
        for (const std::size_t objective : analysis_.objectives) {
            const std::size_t best =
                *std::ranges::min_element(candidates, {}, [&](std::size_t v) { return cost(v, objective); });
            std::erase_if(candidates, [&](std::size_t variant) {
                return variant != best && matters(runs_.effect(best, variant, objective), Effect::Kind::worse);
            });
        }
        return candidates.front();
    }

    void decide() {
        if (comparison_.variants.empty()) return;
        if (analysis_.objectives.empty()) return say_without_objective();
        set_rule();
        std::vector<std::size_t> challengers;
        std::vector<std::size_t> traded;  // better in an objective and worse in a guard
        std::vector<std::size_t> safer;   // the other way round
        const bool first_stands = analysis_.standings[0].eligible();
        for (std::size_t variant = 1; variant < comparison_.variants.size(); ++variant) {
            if (!analysis_.standings[variant].eligible()) continue;
            const bool is_better = !first_stands || decisive(variant);
            const bool is_unsafe = !guards(variant, Effect::Kind::worse).empty();
            if (is_better) (is_unsafe ? traded : challengers).push_back(variant);
            if (first_stands && !is_unsafe && loses(variant) && !guards(variant, Effect::Kind::better).empty())
                safer.push_back(variant);
        }
        if (!challengers.empty())
            say_take(best_of(challengers));
        else if (!traded.empty())
            say_trade_off(best_of(traded));
        else if (!safer.empty())
            say_safer(best_of(safer));
        else if (first_stands)
            say_keep();
        else
            say_none();
    }

    void set_rule() {
        std::vector<std::string> objectives;
        std::vector<std::string> same;
        std::vector<std::string> guarded;
        for (const std::size_t objective : analysis_.objectives)
            (is_same_in_all(objective) ? same : objectives).push_back(measure(objective).name);
        for (const Measure& one : comparison_.measures)
            if (one.guard) guarded.push_back(one.name);
        std::string rule = fmt::format("Chosen by {}; differences below {} do not count", enumerated(objectives),
                                       percent_text(comparison_.criteria.threshold));
        if (objectives.empty()) rule = "Nothing to choose by";
        if (!guarded.empty()) rule += fmt::format("; none of {} may become worse", enumerated(guarded));
        for (const auto& [name, limit] : comparison_.criteria.limits)
            rule += fmt::format("; {} may become worse by {}", name, percent_text(limit));
        if (!same.empty()) rule += fmt::format("; the same in all tunings: {}", enumerated(same));
        analysis_.verdict.rule = rule + ".";
    }

    [[nodiscard]] std::string changes(std::size_t variant, const std::vector<std::size_t>& measures) const {
        std::vector<std::string> texts;
        for (const std::size_t i : measures)
            texts.push_back(
                fmt::format("{} {}", measure(i).name, change_text(analysis_.effects[variant][i], measure(i).unit)));
        return enumerated(texts);
    }

    /// What it is better in it pays for with a guard.
    void say_trade_off(std::size_t variant) {
        const auto objective = decisive(variant);
        const std::string gain_of = objective ? fmt::format("{} has {}", name(variant), changes(variant, {*objective}))
                                              : fmt::format("{} holds where {}", name(variant), failures(0));
        say(fmt::format("No recommendation: a trade-off. {}, and {}.", gain_of,
                        changes(variant, guards(variant, Effect::Kind::worse))));
        say(fmt::format("This stands on {}.", ground()));
        say(fmt::format("Keep {} where what gets worse counts more, take {} where it does not.", name(0),
                        name(variant)));
    }

    /// The first variant is better in an objective, and pays for it with a guard.
    void say_safer(std::size_t variant) {
        say(fmt::format("No recommendation: a trade-off. {} has {}, and {}.", name(variant),
                        changes(variant, guards(variant, Effect::Kind::better)), changes(variant, {*loses(variant)})));
        say(fmt::format("This stands on {}.", ground()));
        say(fmt::format("Take {} where what gets better counts more, keep {} where it does not.", name(variant),
                        name(0)));
    }

    [[nodiscard]] std::string name(std::size_t variant) const { return in_quotes(comparison_.variants[variant].name); }
    [[nodiscard]] const Measure& measure(std::size_t index) const { return comparison_.measures[index]; }
    void say(std::string sentence) { analysis_.verdict.sentences.push_back(std::move(sentence)); }

    [[nodiscard]] std::string failures(std::size_t variant) const {
        const Standing& standing = analysis_.standings[variant];
        if (standing.runs == 0) return fmt::format("{} has no runs", name(variant));
        return fmt::format("{} failed {} of {} ({})", name(variant), number_text(static_cast<double>(standing.failed)),
                           counted(standing.runs, "run"), standing.problem);
    }

    /// How many runs the judgement stands on, and whether they all held.
    [[nodiscard]] std::string ground() const {
        std::size_t failed = 0;
        for (const Standing& standing : analysis_.standings) failed += standing.failed;
        const std::string held = failed == 0
                                     ? "all of which held their invariants"
                                     : fmt::format("{} of which failed", number_text(static_cast<double>(failed)));
        return fmt::format("{}{}, {}", counted(comparison_.runs.size(), "run"),
                           comparison_.complete ? "" : " (it was interrupted: some are missing)", held);
    }

    void say_without_objective() {
        say("The comparison names no objective, so no tuning is recommended: the tables show what differs.");
        say(fmt::format("They stand on {}.", ground()));
        say("What a tuning costs depends on what it is to improve: name the measures under \"objectives\".");
    }

    void say_none() {
        analysis_.verdict.take.reset();
        std::vector<std::string> reasons;
        for (std::size_t variant = 0; variant < comparison_.variants.size() && reasons.size() < 3; ++variant) {
            const Standing& standing = analysis_.standings[variant];
            if (standing.runs == 0 || standing.failed > 0) reasons.push_back(failures(variant));
        }
        say(fmt::format("Take none of these tunings: {}.", enumerated(reasons)));
        say(fmt::format("This stands on {}.", ground()));
        say("What they cost does not matter before their runs pass.");
    }

    void say_take(std::size_t variant) {
        analysis_.verdict.take = variant;
        for (const auto& [setting, value] : comparison_.variants[variant].settings)
            analysis_.verdict.apply.push_back(applied(setting, value));
        const auto objective = decisive(variant);
        if (objective) {
            const Effect& effect = analysis_.effects[variant][*objective];
            say(fmt::format("Take {}: its {} is {} compared with {}.", name(variant), measure(*objective).name,
                            change_text(effect, measure(*objective).unit), name(0)));
            say(fmt::format("With {} % confidence the difference {}, over {} ({}).", kConfidence * 100,
                            lies(effect, measure(*objective).unit), counted(effect.seeds, "seed"), ground()));
        } else {
            say(fmt::format("Take {}: {}.", name(variant), failures(0)));
            say(fmt::format("This stands on {}; in the objectives nothing is shown to be better.", ground()));
        }
        say_cost(variant);
    }

    /// A tunable is a variable of lockstepd's environment; what else a comparison can set is no setting of a deployment.
    static std::string applied(const std::string& setting, const std::string& value) {
        if (setting.find_first_of("./") != std::string::npos)
            return fmt::format("{} = {} (of the scenario)", setting, value);
        std::string variable = "LOCKSTEP_" + setting;
        std::ranges::transform(variable, variable.begin(), [](unsigned char c) { return std::toupper(c); });
        return fmt::format("{}={}", variable, value);
    }

    /// "lies between -31 % and -28 %"; of an interval whose ends read the same "is -28 %, as far as digits are shown".
    static std::string lies(const Effect& effect, const std::string& unit) {
        const std::string text = interval_text(effect, unit);
        const std::size_t at = text.find(" to ");
        if (at == std::string::npos) return "is " + text;
        const std::string low = text.substr(0, at);
        const std::string high = text.substr(at + 4);
        return low == high ? fmt::format("is {}, as far as digits are shown", low)
                           : fmt::format("lies between {} and {}", low, high);
    }

    void say_cost(std::size_t variant) {
        std::vector<std::size_t> worse;
        std::size_t unsettled = 0;
        for (std::size_t i = 0; i < comparison_.measures.size(); ++i) {
            const Effect& effect = analysis_.effects[variant][i];
            if (matters(effect, Effect::Kind::worse)) worse.push_back(i);
            if (matters(effect, Effect::Kind::noise)) ++unsettled;
        }
        // Dearest first.
        std::ranges::sort(worse, {}, [&](std::size_t i) {
            const double worsening = analysis_.effects[variant][i].worsening();
            return std::pair(std::isnan(worsening) ? -std::numeric_limits<double>::infinity() : -worsening, i);
        });
        std::string doubt;
        if (unsettled > 0)
            doubt = fmt::format("; for {} it is not settled, because the difference is noise",
                                counted(unsettled, "measure"));
        const std::string least = percent_text(comparison_.criteria.threshold);
        if (worse.empty())
            return say(fmt::format("It costs nothing that was measured: no measure is shown to be worse by {}{}.",
                                   least, doubt));
        std::vector<std::string> costs;
        for (const std::size_t i : worse) {
            if (costs.size() == 3) {
                costs.push_back(fmt::format("{} more", worse.size() - 3));
                break;
            }
            costs.push_back(
                fmt::format("{} {}", measure(i).name, change_text(analysis_.effects[variant][i], measure(i).unit)));
        }
        say(fmt::format("It costs: {}{}.", enumerated(costs), doubt));
    }

    void say_keep() {
        analysis_.verdict.take = 0;
        if (comparison_.variants.size() == 1)
            return say(
                fmt::format("One tuning was measured, and there is none to hold it against, over {}.", ground()));
        const auto barred = barred_winner();
        if (barred)
            say(fmt::format("Keep {}: {} is better, but {}.", name(0), name(*barred), bar(*barred)));
        else
            say(fmt::format("Keep {}: no other tuning is shown to be better.", name(0)));
        say(fmt::format("{}, over {}.", barred ? gain(*barred, *decisive(*barred)) : doubt_about_rival(), ground()));
        say(price_of_keeping(barred));
    }

    /// A variant that would be taken, did it not fail runs or break limits.
    [[nodiscard]] std::optional<std::size_t> barred_winner() const {
        std::vector<std::size_t> barred;
        for (std::size_t variant = 1; variant < comparison_.variants.size(); ++variant)
            if (analysis_.standings[variant].runs > 0 && decisive(variant)) barred.push_back(variant);
        if (barred.empty()) return std::nullopt;
        return best_of(barred);
    }

    [[nodiscard]] std::string bar(std::size_t variant) const {
        const Standing& standing = analysis_.standings[variant];
        if (standing.failed > 0) return failures(variant);
        if (!standing.broken.empty()) return fmt::format("it breaks the limit on {}", standing.broken.begin()->second);
        return fmt::format("it is not shown to keep the limit on {}", standing.unshown.begin()->second);
    }

    [[nodiscard]] std::string gain(std::size_t variant, std::size_t objective) const {
        const Effect& effect = analysis_.effects[variant][objective];
        return fmt::format("{} of {} is {}; with {} % confidence the difference {}", measure(objective).name,
                           name(variant), change_text(effect, measure(objective).unit), kConfidence * 100,
                           lies(effect, measure(objective).unit));
    }

    /// The variant that looks best by its mean, if it looks better than the first, and passed its runs.
    [[nodiscard]] std::optional<std::size_t> rival() const {
        const std::size_t objective = analysis_.objectives[0];
        std::optional<std::size_t> best;
        for (std::size_t variant = 1; variant < comparison_.variants.size(); ++variant) {
            const Standing& standing = analysis_.standings[variant];
            if (standing.runs == 0 || standing.failed > 0) continue;
            if (cost(variant, objective) >= cost(best.value_or(0), objective)) continue;
            best = variant;
        }
        return best;
    }

    [[nodiscard]] std::string doubt_about_rival() const {
        const Measure& objective = measure(analysis_.objectives[0]);
        const auto best = rival();
        if (!best) return fmt::format("None has a better {} on average", objective.name);
        const Effect& effect = analysis_.effects[*best][analysis_.objectives[0]];
        return fmt::format("The best {} has {}, {}, which is {}", objective.name, name(*best),
                           change_text(effect, objective.unit), effect_words(effect, comparison_.criteria.threshold));
    }

    /// What another variant would bring in some objective.
    [[nodiscard]] std::string price_of_keeping(std::optional<std::size_t> barred) const {
        for (const std::size_t objective : analysis_.objectives) {
            std::optional<std::size_t> best = barred;
            for (std::size_t variant = 1; variant < comparison_.variants.size() && !barred; ++variant) {
                if (!matters(analysis_.effects[variant][objective], Effect::Kind::better)) continue;
                if (!best || cost(variant, objective) < cost(*best, objective)) best = variant;
            }
            if (!best || !matters(analysis_.effects[*best][objective], Effect::Kind::better)) continue;
            return fmt::format("It costs what {} would bring: {} {}{}.", name(*best), measure(objective).name,
                               change_text(analysis_.effects[*best][objective], measure(objective).unit),
                               price_of(*best, objective));
        }
        return "Keeping it costs nothing in any objective.";
    }

    /// The first objective that `variant` makes worse, more important ones first.
    [[nodiscard]] std::string price_of(std::size_t variant, std::size_t gained) const {
        for (const std::size_t objective : analysis_.objectives) {
            const Effect& effect = analysis_.effects[variant][objective];
            if (objective == gained || !matters(effect, Effect::Kind::worse)) continue;
            return fmt::format(", at the price of {} {}", measure(objective).name,
                               change_text(effect, measure(objective).unit));
        }
        return "";
    }

    const Comparison& comparison_;
    PairedRuns runs_;
    Analysis analysis_;
};

}  // namespace

Analysis analyse(const Comparison& comparison) { return Judgement(comparison).analysis(); }

double largest_mean(const Analysis& analysis, std::size_t measure) {
    double largest = 0;
    for (const auto& means : analysis.means)
        if (std::isfinite(means[measure])) largest = std::max(largest, std::fabs(means[measure]));
    return largest;
}

}  // namespace lockstep::reports
