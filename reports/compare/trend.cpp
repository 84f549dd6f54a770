#include "reports/compare/trend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reports/compare/gate.h"
#include "reports/compare/words.h"

namespace lockstep::reports {

namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

template <class Item>
std::vector<std::size_t> places_of(const std::vector<Item>& wanted, const std::vector<Item>& in) {
    std::vector<std::size_t> out;
    for (const Item& one : wanted)
        out.push_back(static_cast<std::size_t>(std::ranges::find(in, one.name, &Item::name) - in.begin()));
    return out;
}

/// The means of one measure over the results, today's last, for each variant.
std::vector<std::vector<double>> courses_of(const Comparison& comparison, const Analysis& analysis,
                                            std::size_t measure) {
    std::vector<std::vector<double>> out;
    for (std::size_t variant = 0; variant < comparison.variants.size(); ++variant) {
        std::vector<double>& course = out.emplace_back();
        for (const EarlierResult& earlier : comparison.history) course.push_back(earlier.means[variant][measure]);
        course.push_back(analysis.means[variant][measure]);
    }
    return out;
}

bool has_changed(const std::vector<std::vector<double>>& courses) {
    return std::ranges::any_of(courses, [](const std::vector<double>& course) {
        return std::ranges::any_of(course, [&](double value) { return value != course.back() && !std::isnan(value); });
    });
}

std::vector<std::size_t> measures_shown(const Comparison& comparison, const Analysis& analysis) {
    std::vector<std::size_t> out = analysis.objectives;
    for (std::size_t i = 0; i < comparison.measures.size(); ++i)
        if (comparison.measures[i].guard && std::ranges::find(out, i) == out.end() &&
            has_changed(courses_of(comparison, analysis, i)))
            out.push_back(i);
    return out;
}

/// "876 ms (-3.4 %)": by how much it differs from the one before, where both were measured alike.
std::string cell_of(const std::vector<double>& course, std::size_t at, const std::string& unit, double most,
                    bool is_like_before) {
    std::string out = quantity_text(course[at], unit, most);
    if (!is_like_before || !std::isfinite(course[at] / course[at - 1])) return out;
    return out + fmt::format(" ({})", signed_percent_text(course[at] / course[at - 1] - 1));
}

Picture trend_picture(const Comparison& comparison, const Analysis& analysis, std::size_t index,
                      const std::vector<std::size_t>& drawn) {
    const Measure& measure = comparison.measures[index];
    const auto courses = courses_of(comparison, analysis, index);
    const std::size_t results = comparison.history.size() + 1;
    double most = 0;
    for (const auto& course : courses)
        for (const double value : course) most = std::isfinite(value) ? std::max(most, value) : most;
    Picture out;
    out.title = "Trend of " + measure.name;
    out.caption = "Means over all runs of each kept result; the last one is this comparison.";
    out.table.head = {"result"};
    for (const ComparedVariant& variant : comparison.variants) out.table.head.push_back(variant.name);
    bool is_like = false;  // the one before
    for (std::size_t at = 0; at < results; ++at) {
        const EarlierResult* earlier = at < comparison.history.size() ? &comparison.history[at] : nullptr;
        const bool was_like = std::exchange(is_like, earlier == nullptr || earlier->unlike.empty());
        std::vector<std::string> row{earlier == nullptr        ? "this one"
                                     : earlier->unlike.empty() ? earlier->label
                                                               : earlier->label + " *"};
        for (const auto& course : courses)
            row.push_back(cell_of(course, at, measure.unit, most, at > 0 && was_like && is_like));
        out.table.rows.push_back(std::move(row));
        if (earlier != nullptr && !earlier->unlike.empty())
            out.caption += fmt::format(" * {}: {}.", earlier->label, earlier->unlike);
    }
    std::vector<PictureLine> lines;
    for (const std::size_t variant : drawn) {
        PictureLine& line = lines.emplace_back(PictureLine{.variant = variant, .points = {}});
        for (std::size_t at = 0; at < results; ++at)
            if (std::isfinite(courses[variant][at]))
                line.points.emplace_back(static_cast<double>(at + 1), courses[variant][at]);
    }
    draw_lines(out, lines, drawn, {.across = "result", .measure = measure.name, .unit = measure.unit, .most = most});
    return out;
}

}  // namespace

EarlierResult earlier_result(const Comparison& earlier, const Comparison& now, std::string label) {
    EarlierResult out{.label = std::move(label), .unlike = unlike(earlier, now), .means = {}};
    const Analysis then = analyse(earlier);
    const auto measures = places_of(now.measures, earlier.measures);
    for (const std::size_t variant : places_of(now.variants, earlier.variants)) {
        std::vector<double>& means = out.means.emplace_back();
        for (const std::size_t measure : measures)
            means.push_back(variant < then.means.size() && measure < earlier.measures.size()
                                ? then.means[variant][measure]
                                : kAbsent);
    }
    return out;
}

std::vector<Picture> trend_pictures(const Comparison& comparison, const Analysis& analysis) {
    std::vector<Picture> out;
    if (comparison.history.empty()) return out;
    const auto drawn = drawn_variants(comparison, analysis);
    for (const std::size_t measure : measures_shown(comparison, analysis))
        out.push_back(trend_picture(comparison, analysis, measure, drawn));
    return out;
}

}  // namespace lockstep::reports
