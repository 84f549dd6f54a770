#include "reports/compare/builds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace lockstep::reports {

namespace {

/// Where the variant of a build stands among the variants of both.
std::size_t place_of(std::size_t variant, bool is_ours) { return 2 * variant + (is_ours ? 1 : 0); }

bool is_same_variant(const ComparedVariant& a, const ComparedVariant& b) {
    return std::tie(a.name, a.settings) == std::tie(b.name, b.settings);
}
bool is_same_scenario(const ComparedScenario& a, const ComparedScenario& b) {
    return std::tie(a.name, a.hash) == std::tie(b.name, b.hash);
}

std::string differing_part(const Comparison& theirs, const Comparison& ours) {
    if (!std::ranges::equal(theirs.variants, ours.variants, is_same_variant)) return "variants";
    if (!std::ranges::equal(theirs.scenarios, ours.scenarios, is_same_scenario)) return "scenarios or their content";
    return theirs.seeds == ours.seeds ? "" : "seeds";
}

std::string build_name(const Comparison& made) {
    if (made.commit.empty()) return made.version;
    return fmt::format("{} ({}{})", made.version, made.commit.substr(0, 12), made.dirty ? " with changes" : "");
}

std::size_t index_of(const std::vector<Measure>& measures, const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(measures, name, &Measure::name) - measures.begin());
}

class Joining {
public:
    Joining(const Comparison& theirs, const Comparison& ours) : out_(ours) {
        for (const Measure& measure : theirs.measures)
            if (index_of(out_.measures, measure.name) == out_.measures.size()) out_.measures.push_back(measure);
        out_.complete = theirs.complete && ours.complete;
        out_.axes.clear();  // the builds are no setting of a grid
        out_.variants.assign(2 * ours.variants.size(), {});
        out_.runs.clear();
        out_.distributions.clear();
        out_.courses.clear();
        take(theirs, false);
        take(ours, true);
        for (const std::string& sentence : theirs.not_shared)
            if (std::ranges::find(out_.not_shared, sentence) == out_.not_shared.end())
                out_.not_shared.push_back(sentence);
    }

    [[nodiscard]] Comparison joined() && { return std::move(out_); }

private:
    void take(const Comparison& made, bool is_ours) {
        for (std::size_t i = 0; i < made.variants.size(); ++i) {
            ComparedVariant& variant = out_.variants[place_of(i, is_ours)];
            variant = made.variants[i];
            if (!variant.name.empty()) variant.name += ", ";
            variant.name += is_ours ? "this build" : "the other build";
            variant.settings["build"] = build_name(made);
        }
        for (const ComparedRun& run : made.runs) take_run(made, run, is_ours);
        for (Distribution distribution : made.distributions) {
            distribution.variant = place_of(distribution.variant, is_ours);
            out_.distributions.push_back(std::move(distribution));
        }
        for (Course course : made.courses) {
            course.variant = place_of(course.variant, is_ours);
            out_.courses.push_back(std::move(course));
        }
    }

    void take_run(const Comparison& made, ComparedRun run, bool is_ours) {
        std::vector<double> values(out_.measures.size(), std::numeric_limits<double>::quiet_NaN());
        for (std::size_t m = 0; m < made.measures.size(); ++m)
            values[index_of(out_.measures, made.measures[m].name)] = run.values[m];
        run.values = std::move(values);
        run.variant = place_of(run.variant, is_ours);
        out_.runs.push_back(std::move(run));
    }

    Comparison out_;
};

}  // namespace

tl::expected<Comparison, std::string> join_builds(const Comparison& theirs, const Comparison& ours) {
    if (const std::string part = differing_part(theirs, ours); !part.empty())
        return tl::unexpected(fmt::format("the two builds have run different {}", part));
    return Joining(theirs, ours).joined();
}

}  // namespace lockstep::reports
