#include "reports/compare/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace lockstep::reports {

namespace {

/// As many points as a picture can show.
constexpr std::size_t kPointsMax = 400;

bool same_measure(const Measure& a, const Measure& b) {
    return std::tie(a.name, a.unit, a.better) == std::tie(b.name, b.unit, b.better);
}
bool same_variant(const ComparedVariant& a, const ComparedVariant& b) {
    return std::tie(a.name, a.settings) == std::tie(b.name, b.settings);
}
bool same_scenario(const ComparedScenario& a, const ComparedScenario& b) {
    return std::tie(a.name, a.hash) == std::tie(b.name, b.hash);
}
bool same_criteria(const Criteria& a, const Criteria& b) {
    return std::tie(a.objectives, a.limits, a.threshold) == std::tie(b.objectives, b.limits, b.threshold);
}

/// What keeps two shards apart; empty = nothing.
std::string what_differs(const Comparison& a, const Comparison& b) {
    if (a.question != b.question) return fmt::format("the question (\"{}\" and \"{}\")", a.question, b.question);
    if (a.file != b.file) return fmt::format("the file ({} and {})", a.file, b.file);
    if (a.version != b.version) return fmt::format("the version of the program ({} and {})", a.version, b.version);
    if (a.commit != b.commit || a.dirty != b.dirty)
        return fmt::format("the commit ({}{} and {}{})", a.commit, a.dirty ? " with changes" : "", b.commit,
                           b.dirty ? " with changes" : "");
    if (!std::ranges::equal(a.variants, b.variants, same_variant)) return "the variants or their settings";
    if (!std::ranges::equal(a.measures, b.measures, same_measure)) return "the measures";
    if (!std::ranges::equal(a.scenarios, b.scenarios, same_scenario)) return "the scenarios or their content";
    if (!same_criteria(a.criteria, b.criteria)) return "the criteria";
    if (a.axes != b.axes) return "the axes of the grid";
    return "";
}

using RunKey = std::tuple<std::size_t, std::size_t, std::uint64_t>;

/// Equal runs, or the first sign that they are not. NaN equals NaN.
bool same_outcome(const ComparedRun& a, const ComparedRun& b) {
    const auto same_value = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return a.digest == b.digest && a.passed == b.passed && std::ranges::equal(a.values, b.values, same_value);
}

double share_at(const Distribution& distribution, double value) {
    const auto after = std::ranges::upper_bound(distribution.points, value, {}, &std::pair<double, double>::first);
    return after == distribution.points.begin() ? 0 : std::prev(after)->second;
}

void thin_out(std::vector<std::pair<double, double>>& points) {
    if (points.size() <= kPointsMax) return;
    std::vector<std::pair<double, double>> kept;
    for (std::size_t i = 0; i < kPointsMax; ++i) kept.push_back(points[i * (points.size() - 1) / (kPointsMax - 1)]);
    points = std::move(kept);
}

/// The distribution of the samples of all parts.
Distribution pooled(const std::vector<Distribution>& parts) {
    Distribution out = parts.front();
    out.points.clear();
    out.samples = 0;
    std::vector<double> values;
    for (const Distribution& part : parts) {
        out.samples += part.samples;
        for (const auto& [value, share] : part.points) values.push_back(value);
    }
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (const double value : values) {
        double below = 0;
        for (const Distribution& part : parts) below += static_cast<double>(part.samples) * share_at(part, value);
        out.points.emplace_back(value, out.samples == 0 ? 0 : below / static_cast<double>(out.samples));
    }
    thin_out(out.points);
    return out;
}

std::vector<Distribution> pooled_distributions(const std::vector<Comparison>& shards) {
    std::map<std::pair<std::size_t, std::string>, std::vector<Distribution>> parts;
    for (const Comparison& shard : shards)
        for (const Distribution& distribution : shard.distributions) {
            const std::pair key(distribution.variant, distribution.measure);
            parts[key].push_back(distribution);
        }
    std::vector<Distribution> out;
    for (const auto& [key, some] : parts) out.push_back(pooled(some));
    return out;
}

void add_missing(std::vector<std::string>& all, const std::vector<std::string>& more) {
    for (const std::string& one : more)
        if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

void take_courses(Comparison& out, const std::vector<Comparison>& shards) {
    const auto found = std::ranges::find_if(shards, [](const Comparison& shard) { return !shard.courses.empty(); });
    if (found == shards.end()) return;
    out.courses = found->courses;
    out.faults = found->faults;
}

}  // namespace

tl::expected<Comparison, std::string> merge(std::vector<Comparison> shards) {
    if (shards.empty())
        return tl::unexpected(std::string("there is nothing to merge: name the JSON files of the shards"));
    Comparison out = shards.front();
    std::map<RunKey, const ComparedRun*> runs;
    std::vector<std::string> commands;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const Comparison& shard = shards[i];
        if (const std::string problem = what_differs(shards.front(), shard); !problem.empty())
            return tl::unexpected(fmt::format("shards 1 and {} cannot be merged, they differ in {}", i + 1, problem));
        for (const ComparedRun& run : shard.runs) {
            const auto [known, added] = runs.emplace(RunKey(run.variant, run.scenario, run.seed), &run);
            if (!added && !same_outcome(*known->second, run))
                return tl::unexpected(fmt::format(
                    "shard {} has another outcome of {} of variant \"{}\" with seed {} than a shard before it", i + 1,
                    shard.scenarios[run.scenario].name, shard.variants[run.variant].name, run.seed));
        }
        out.complete = out.complete && shard.complete;
        out.seeds.insert(out.seeds.end(), shard.seeds.begin(), shard.seeds.end());
        add_missing(out.not_shared, shard.not_shared);
        add_missing(commands, {shard.command});
    }
    std::ranges::sort(out.seeds);
    out.seeds.erase(std::unique(out.seeds.begin(), out.seeds.end()), out.seeds.end());
    out.complete = out.complete && runs.size() == out.variants.size() * out.scenarios.size() * out.seeds.size();
    out.runs.clear();
    for (const auto& [key, run] : runs) out.runs.push_back(*run);
    std::ranges::sort(commands);
    out.command.clear();
    for (const std::string& command : commands) out.command += (out.command.empty() ? "" : "\n") + command;
    out.distributions = pooled_distributions(shards);
    out.courses.clear();
    out.faults.clear();
    take_courses(out, shards);
    return out;
}

}  // namespace lockstep::reports
