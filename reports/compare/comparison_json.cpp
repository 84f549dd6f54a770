#include "reports/compare/comparison_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "reports/compare/measure_direction.h"
#include "reports/compare/words.h"
#include "reports/run_report.h"

namespace lockstep::reports {

namespace {

using nlohmann::json;

json value_json(double value) {
    constexpr double kExactMax = 9.0e15;
    if (!std::isfinite(value)) return nullptr;
    if (std::floor(value) == value && std::fabs(value) < kExactMax) return static_cast<std::int64_t>(value);
    return value;
}

json values_json(const std::vector<double>& values) {
    json out = json::array();
    for (const double value : values) out.push_back(value_json(value));
    return out;
}

json interval_json(const Interval& interval) {
    if (!interval.known()) return nullptr;
    return {value_json(interval.low), value_json(interval.high)};
}

std::string_view told_name(Effect::Told told) {
    switch (told) {
        case Effect::Told::observed: return "difference";
        case Effect::Told::threshold: return "threshold";
        case Effect::Told::nothing: break;
    }
    return "nothing";
}

json measure_json(const Measure& measure) {
    return {{"name", measure.name},
            {"unit", measure.unit},
            {"better", direction_name(measure.better)},
            {"about", measure.about},
            {"guard", measure.guard}};
}

json run_json(const ComparedRun& run) {
    return {{"variant", run.variant},
            {"scenario", run.scenario},
            {"seed", run.seed},
            {"digest", digest_text(run.digest)},
            {"passed", run.passed},
            {"problem", run.problem},
            {"values", values_json(run.values)}};
}

json distribution_json(const Distribution& distribution) {
    json points = json::array();
    for (const auto& [value, share] : distribution.points) points.push_back({value_json(value), value_json(share)});
    return {{"variant", distribution.variant},
            {"measure", distribution.measure},
            {"unit", distribution.unit},
            {"samples", distribution.samples},
            {"points", std::move(points)}};
}

json course_json(const Course& course) {
    return {{"variant", course.variant},
            {"step_ms", value_json(course.step_ms)},
            {"backlog", values_json(course.backlog)},
            {"retries", values_json(course.retries)}};
}

json fault_json(const FaultBand& fault) {
    return {{"kind", fault.kind}, {"from_ms", value_json(fault.from_ms)}, {"to_ms", value_json(fault.to_ms)}};
}

json criteria_json(const Criteria& criteria) {
    return {{"objectives", criteria.objectives}, {"limits", criteria.limits}, {"threshold", criteria.threshold}};
}

json axes_json(const Comparison& comparison) {
    json axes = json::array();
    for (const auto& [setting, values] : comparison.axes) axes.push_back({{"setting", setting}, {"values", values}});
    return axes;
}

json effect_json(const Comparison& comparison, std::size_t variant, std::size_t measure, const Effect& effect) {
    return {{"variant", comparison.variants[variant].name},
            {"measure", comparison.measures[measure].name},
            {"is", kind_text(effect.kind)},
            {"words", effect_words(effect, comparison.criteria.threshold)},
            {"pairs", effect.pairs},
            {"seeds", effect.seeds},
            {"one_sided", effect.one_sided},
            {"base_mean", value_json(effect.base_mean)},
            {"mean", value_json(effect.mean)},
            {"difference", value_json(effect.difference)},
            {"difference_interval", interval_json(effect.difference_interval)},
            {"relative", value_json(effect.relative)},
            {"relative_interval", interval_json(effect.relative_interval)},
            {"negligible", effect.negligible},
            {"seeds_to_tell", effect.seeds_to_tell},
            {"would_tell", told_name(effect.told)}};
}

json effects_json(const Comparison& comparison, const Analysis& analysis) {
    json out = json::array();
    for (std::size_t variant = 1; variant < analysis.effects.size(); ++variant)
        for (std::size_t measure = 0; measure < analysis.effects[variant].size(); ++measure)
            out.push_back(effect_json(comparison, variant, measure, analysis.effects[variant][measure]));
    return out;
}

json verdict_json(const Comparison& comparison, const Verdict& verdict) {
    json pareto = json::array();
    for (const std::size_t variant : verdict.pareto) pareto.push_back(comparison.variants[variant].name);
    return {{"take", verdict.take ? json(comparison.variants[*verdict.take].name) : json(nullptr)},
            {"sentences", verdict.sentences},
            {"rule", verdict.rule},
            {"apply", verdict.apply},
            {"pareto", std::move(pareto)}};
}

/// A field per line, and of a list of objects one per line: neither one endless line nor a line per number.
class ComparisonDocument {
public:
    void field(std::string_view name, const json& value) {
        text_ += text_.empty() ? "{\n" : ",\n";
        text_ += "  " + engine::wire::json_text(json(name)) + ": " + engine::wire::json_text(value);
    }
    template <class T, class ToJson>
    void list(std::string_view name, const std::vector<T>& items, ToJson to_line) {
        text_ += text_.empty() ? "{\n" : ",\n";
        text_ += "  " + engine::wire::json_text(json(name)) + ": [";
        for (std::size_t i = 0; i < items.size(); ++i)
            text_ += (i == 0 ? "\n    " : ",\n    ") + engine::wire::json_text(to_line(items[i]));
        text_ += items.empty() ? "]" : "\n  ]";
    }
    [[nodiscard]] std::string text() const { return text_ + "\n}\n"; }

private:
    std::string text_;
};

}  // namespace

std::string comparison_json(const Comparison& comparison, const Analysis& analysis) {
    ComparisonDocument document;
    document.field("format", kComparisonFormat);
    document.field("schema_version", kComparisonSchemaVersion);
    document.field("title", comparison.title);
    document.field("question", comparison.question);
    document.field("file", comparison.file);
    document.field("version", comparison.version);
    document.field("commit", comparison.commit);
    document.field("dirty", comparison.dirty);
    document.field("command", comparison.command);
    document.field("complete", comparison.complete);
    document.field("not_shared", comparison.not_shared);
    document.list("variants", comparison.variants,
                  [](const ComparedVariant& v) { return json{{"name", v.name}, {"settings", v.settings}}; });
    document.list("scenarios", comparison.scenarios,
                  [](const ComparedScenario& s) { return json{{"file", s.file}, {"name", s.name}, {"hash", s.hash}}; });
    document.field("seeds", comparison.seeds);
    document.list("measures", comparison.measures, measure_json);
    document.field("criteria", criteria_json(comparison.criteria));
    document.field("axes", axes_json(comparison));
    document.field("verdict", verdict_json(comparison, analysis.verdict));
    document.field("digest", analysis.digest);
    const json effects = effects_json(comparison, analysis);
    document.list("effects", effects.get<std::vector<json>>(), [](const json& effect) { return effect; });
    document.list("runs", comparison.runs, run_json);
    document.list("distributions", comparison.distributions, distribution_json);
    document.list("courses", comparison.courses, course_json);
    document.list("faults", comparison.faults, fault_json);
    return document.text();
}

}  // namespace lockstep::reports
