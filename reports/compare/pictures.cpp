#include "reports/compare/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <kainjow/mustache.hpp>
#include <limits>
#include <optional>

#include "reports/compare/words.h"
#include "reports/text.h"

namespace lockstep::reports {

namespace {

constexpr std::size_t kCurvePointsMax = 160;
constexpr std::size_t kAttemptsMax = 12;
constexpr std::string_view kAttempts = "attempts_per_job";
/// Colours for kinds of faults; further kinds share the last.
constexpr std::size_t kFaultColours = 4;

/// Written for a width at which the letters are still read on a telephone.
std::string script_head(std::string_view across, std::string_view up) {
    return fmt::format(
        "set encoding utf8\n"
        "set terminal svg size 440,280 dynamic noenhanced font 'sans-serif,12'\n"
        "unset key\n"
        "set border 3 lc rgb '#030000'\n"
        "set tics nomirror textcolor rgb '#000000'\n"
        "set grid lc rgb '#030000' lt 1 lw 0.5\n"
        "set xlabel '{}'\n"
        "set ylabel '{}'\n",
        script_text(across, 40), script_text(up, 40));
}

std::string series_colour(std::size_t place) { return fmt::format("rgb '#0100{:02x}'", place); }

/// Milliseconds are drawn in seconds where they are many.
struct Scale {
    std::string unit;
    double factor = 1;
};
Scale scale_of(const std::string& unit, double largest) {
    if (unit == "ms" && largest >= 10'000) return {"s", 0.001};
    return {unit == "count" || unit == "ratio" ? "" : unit, 1};
}

std::string axis_title(const std::string& name, const std::string& unit) {
    return unit.empty() ? name : fmt::format("{}, {}", name, unit);
}

template <class T>
std::vector<T> evenly(const std::vector<T>& items, std::size_t count_max) {
    if (items.size() <= count_max) return items;
    std::vector<T> out;
    for (std::size_t i = 0; i < count_max; ++i) out.push_back(items[i * (items.size() - 1) / (count_max - 1)]);
    return out;
}

/// The distributions of one measure, those of the drawn variants only, in their order.
std::vector<const Distribution*> of_measure(const Comparison& comparison, const std::string& measure,
                                            const std::vector<std::size_t>& drawn) {
    std::vector<const Distribution*> out;
    for (const std::size_t variant : drawn)
        for (const Distribution& distribution : comparison.distributions)
            if (distribution.variant == variant && distribution.measure == measure && !distribution.points.empty())
                out.push_back(&distribution);
    return out;
}

std::size_t place_of(const std::vector<std::size_t>& drawn, std::size_t variant) {
    return static_cast<std::size_t>(std::ranges::find(drawn, variant) - drawn.begin());
}

/// Dvoretzky, Kiefer and Wolfowitz, with Massart's constant.
double band_half_width(std::uint64_t samples) {
    return std::sqrt(std::log(2 / (1 - kConfidence)) / (2 * static_cast<double>(std::max<std::uint64_t>(samples, 1))));
}

/// Wide spans that start above zero are easier to see in decades.
bool wants_decades(const std::vector<const Distribution*>& distributions) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    double median_most = 0;
    for (const Distribution* one : distributions) {
        least = std::min(least, one->points.front().first);
        most = std::max(most, one->points.back().first);
        median_most = std::max(median_most, quantile(*one, 0.5));
    }
    return least > 0 && most / least > 50 && most > 8 * median_most;
}

std::string curve_data(const Distribution& distribution, std::size_t name, double factor) {
    const double half = band_half_width(distribution.samples);
    std::string out = fmt::format("$d{} << EOD\n", name);
    const auto points = evenly(distribution.points, kCurvePointsMax);
    out += fmt::format("{:.6g} 0 0 {:.4g}\n", points.front().first * factor, std::min(1.0, half));
    for (const auto& [value, share] : points)
        out += fmt::format("{:.6g} {:.4g} {:.4g} {:.4g}\n", value * factor, share, std::max(0.0, share - half),
                           std::min(1.0, share + half));
    return out + "EOD\n";
}

PictureTable quantile_table(const Comparison& comparison, const std::vector<const Distribution*>& distributions) {
    PictureTable out{{"variant", "samples", "median", "90 %", "99 %", "largest"}, {}};
    for (const Distribution* one : distributions) {
        std::vector<std::string> row{comparison.variants[one->variant].name,
                                     number_text(static_cast<double>(one->samples))};
        for (const double q : {0.5, 0.9, 0.99, 1.0}) row.push_back(quantity_text(quantile(*one, q), one->unit));
        out.rows.push_back(std::move(row));
    }
    return out;
}

Picture distribution_picture(const Comparison& comparison, const std::vector<const Distribution*>& distributions,
                             const std::vector<std::size_t>& drawn) {
    const std::string& measure = distributions.front()->measure;
    const bool decades = wants_decades(distributions);
    double most = 0;
    for (const Distribution* one : distributions) most = std::max(most, one->points.back().first);
    const Scale scale = scale_of(distributions.front()->unit, most);
    Picture out;
    out.title = "Distribution of " + measure;
    out.caption = fmt::format(
        "The share of all samples that is at most so large; further left is smaller.{} Each band would hold the whole "
        "curve with "
        "95 % confidence if samples did not depend on each other (Dvoretzky-Kiefer-Wolfowitz). Jobs of one run do, so "
        "to judge a "
        "difference take the intervals in the tables, which are over seeds.",
        decades ? " The scale is logarithmic." : "");
    out.script = script_head(axis_title(measure, scale.unit), "share of samples");
    out.script += "set yrange [0:1]\n";
    if (decades) out.script += "set logscale x 10\nset format x '%g'\n";
    std::string curves;
    for (std::size_t i = 0; i < distributions.size(); ++i) {
        out.script += curve_data(*distributions[i], i, scale.factor);
        const std::string colour = series_colour(place_of(drawn, distributions[i]->variant));
        curves += fmt::format(
            "{}$d{} using 1:3:4 with filledcurves fs solid 0.15 noborder fc {}, $d{} using 1:2 with steps lw 2 lc {}",
            i == 0 ? "plot " : ", ", i, colour, i, colour);
        out.variants.push_back(distributions[i]->variant);
    }
    out.script += curves + "\n";
    out.table = quantile_table(comparison, distributions);
    return out;
}

/// Shares of jobs by number of attempts; the last entry holds everything from kAttemptsMax on.
std::vector<double> shares_by_attempts(const Distribution& distribution, std::size_t bins) {
    std::vector<double> out(bins, 0);
    double before = 0;
    for (const auto& [value, share] : distribution.points) {
        const double attempts = std::clamp(std::round(value), 1.0, static_cast<double>(bins));
        out[static_cast<std::size_t>(attempts) - 1] += share - before;
        before = share;
    }
    return out;
}

Picture attempts_picture(const Comparison& comparison, const std::vector<const Distribution*>& distributions,
                         const std::vector<std::size_t>& drawn) {
    double most = 1;
    for (const Distribution* one : distributions) most = std::max(most, one->points.back().first);
    const std::size_t bins = std::min(kAttemptsMax, static_cast<std::size_t>(std::ceil(most)));
    const bool open_end = most > static_cast<double>(bins);
    Picture out;
    out.title = "Attempts per job";
    out.caption = fmt::format("The share of jobs that took so many attempts{}; one attempt = no retry.",
                              open_end ? fmt::format(" (the last: {} or more)", bins) : "");
    out.script = script_head("attempts", "share of jobs");
    out.script += fmt::format("set yrange [0:*]\nset xrange [0.4:{}.6]\nset xtics 1\n", bins);
    const double width = 0.8 / static_cast<double>(distributions.size());
    out.script += fmt::format("set boxwidth {:.4g}\n", width);
    out.table.head = {"variant"};
    for (std::size_t bin = 1; bin <= bins; ++bin)
        out.table.head.push_back(fmt::format("{}{}", bin, open_end && bin == bins ? " or more" : ""));
    std::string boxes;
    for (std::size_t i = 0; i < distributions.size(); ++i) {
        std::vector<std::string> row{comparison.variants[distributions[i]->variant].name};
        out.script += fmt::format("$d{} << EOD\n", i);
        const std::vector<double> shares = shares_by_attempts(*distributions[i], bins);
        for (std::size_t bin = 0; bin < bins; ++bin) {
            const double middle = static_cast<double>(bin) + 1 - 0.4 + width * (static_cast<double>(i) + 0.5);
            out.script += fmt::format("{:.4f} {:.5g}\n", middle, shares[bin]);
            row.push_back(percent_text(shares[bin]));
        }
        out.script += "EOD\n";
        boxes += fmt::format("{}$d{} using 1:2 with boxes fs solid 0.8 noborder fc {}", i == 0 ? "plot " : ", ", i,
                             series_colour(place_of(drawn, distributions[i]->variant)));
        out.variants.push_back(distributions[i]->variant);
        out.table.rows.push_back(std::move(row));
    }
    out.script += boxes + "\n";
    return out;
}

std::vector<std::string> kinds_of_faults(const Comparison& comparison) {
    std::vector<std::string> out;
    for (const FaultBand& fault : comparison.faults)
        if (std::ranges::find(out, fault.kind) == out.end()) out.push_back(fault.kind);
    return out;
}

/// Behind the curves; at least a sliver wide, so that an instant is seen.
std::string fault_bands(const Comparison& comparison, double end_s) {
    const std::vector<std::string> kinds = kinds_of_faults(comparison);
    std::string out;
    for (std::size_t i = 0; i < comparison.faults.size(); ++i) {
        const FaultBand& fault = comparison.faults[i];
        const auto kind = static_cast<std::size_t>(std::ranges::find(kinds, fault.kind) - kinds.begin());
        const double from = fault.from_ms / 1000;
        const double to = std::max(fault.to_ms / 1000, from + end_s * 0.004);
        if (!(from < end_s)) continue;
        out += fmt::format(
            "set object {} rect from first {:.6g}, graph 0 to first {:.6g}, graph 1 behind fs solid 0.2 noborder "
            "fc rgb '#0200{:02x}'\n",
            i + 1, from, std::min(to, end_s), std::min(kind, kFaultColours - 1));
    }
    return out;
}

/// At most kCurvePointsMax steps, each the largest of those it stands for: peaks stay.
std::vector<std::pair<double, double>> peaks(const std::vector<double>& values, double step_s) {
    const std::size_t stride = std::max<std::size_t>(1, (values.size() + kCurvePointsMax - 1) / kCurvePointsMax);
    std::vector<std::pair<double, double>> out;
    for (std::size_t i = 0; i < values.size(); i += stride) {
        const auto last = values.begin() + static_cast<std::ptrdiff_t>(std::min(i + stride, values.size()));
        const double peak = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(i), last);
        if (std::isfinite(peak)) out.emplace_back(static_cast<double>(i) * step_s, peak);
    }
    return out;
}

struct CourseOf {
    std::string title;
    std::string up;
    std::vector<double> Course::* values;
};

Picture course_picture(const Comparison& comparison, const std::vector<std::size_t>& drawn, const CourseOf& of) {
    Picture out;
    out.title = of.title;
    out.caption = "One run through time, the same scenario and seed for all variants.";
    out.faults = kinds_of_faults(comparison);
    out.table.head = {"variant", "most", "at", "sum of all steps"};
    double end_s = 0;
    std::string data;
    std::string curves;
    for (const std::size_t variant : drawn) {
        const auto found = std::ranges::find(comparison.courses, variant, &Course::variant);
        if (found == comparison.courses.end() || ((*found).*of.values).empty()) continue;
        const std::vector<double>& values = (*found).*of.values;
        const double step_s = found->step_ms / 1000;
        end_s = std::max(end_s, static_cast<double>(values.size()) * step_s);
        const std::size_t name = out.variants.size();
        data += fmt::format("$d{} << EOD\n", name);
        for (const auto& [at, value] : peaks(values, step_s)) data += fmt::format("{:.6g} {:.6g}\n", at, value);
        data += "EOD\n";
        curves += fmt::format("{}$d{} using 1:2 with fsteps lw 1.5 lc {}", name == 0 ? "plot " : ", ", name,
                              series_colour(place_of(drawn, variant)));
        out.variants.push_back(variant);
        const auto most = std::ranges::max_element(values);
        double sum = 0;
        for (const double value : values) sum += value;
        out.table.rows.push_back({comparison.variants[variant].name, number_text(*most),
                                  number_text(static_cast<double>(most - values.begin()) * step_s) + " s",
                                  number_text(sum)});
    }
    if (out.variants.empty()) return {};
    out.script = script_head("time, s", of.up) + fmt::format("set yrange [0:*]\nset xrange [0:{:.6g}]\n", end_s);
    out.script += fault_bands(comparison, end_s) + data + curves + "\n";
    return out;
}

/// Means of the first two objectives; what is not finite cannot be drawn.
Picture pareto_picture(const Comparison& comparison, const Analysis& analysis) {
    if (comparison.axes.empty() || analysis.verdict.pareto.empty()) return {};
    const std::size_t x = analysis.front[0];
    const std::size_t y = analysis.front[1];
    const auto mean = [&](std::size_t variant, std::size_t measure) { return analysis.means[variant][measure]; };
    const auto on_front = [&](std::size_t variant) {
        return std::ranges::find(analysis.verdict.pareto, variant) != analysis.verdict.pareto.end();
    };
    double most = 0;
    for (const auto& means : analysis.means)
        if (std::isfinite(means[x])) most = std::max(most, means[x]);
    const Scale scale = scale_of(comparison.measures[x].unit, most);
    const Scale up = scale_of(comparison.measures[y].unit, 0);
    Picture out;
    out.title = "What can be had for what";
    out.caption =
        "Each tuning by its mean in the first two objectives that differ; the numbers are those of the list of "
        "tunings. The line "
        "is the "
        "Pareto front: no tuning beats one on it in both. Tunings with failed runs are not on it.";
    out.script = script_head(axis_title(comparison.measures[x].name, scale.unit),
                             axis_title(comparison.measures[y].name, up.unit));
    out.script += "set offsets graph 0.08, graph 0.08, graph 0.08, graph 0.08\nset style fill solid 0.8 noborder\n";
    std::string front = "$front << EOD\n";
    std::string others;
    std::string labels = "$labels << EOD\n";
    out.table.head = {"tuning", comparison.measures[x].name, comparison.measures[y].name, "on the front"};
    const auto point = [&](std::size_t variant) {
        return fmt::format("{:.6g} {:.6g}", mean(variant, x) * scale.factor, mean(variant, y));
    };
    for (const std::size_t variant : analysis.verdict.pareto) {
        front += point(variant) + "\n";
        labels += fmt::format("{} {}\n", point(variant), variant + 1);
    }
    for (std::size_t variant = 0; variant < comparison.variants.size(); ++variant) {
        out.table.rows.push_back(
            {comparison.variants[variant].name,
             quantity_text(mean(variant, x), comparison.measures[x].unit, largest_mean(analysis, x)),
             quantity_text(mean(variant, y), comparison.measures[y].unit, largest_mean(analysis, y)),
             on_front(variant) ? "yes" : "no"});
        if (!on_front(variant) && std::isfinite(mean(variant, x)) && std::isfinite(mean(variant, y)))
            others += point(variant) + "\n";
    }
    out.script += front + "EOD\n" + labels + "EOD\n";
    out.script += others.empty() ? "" : "$others << EOD\n" + others + "EOD\n";
    out.script += "plot $front using 1:2 with steps lw 1.5 lc rgb '#010001'";
    if (!others.empty()) out.script += ", $others using 1:2:('●') with labels font ',9' textcolor rgb '#010000'";
    out.script += ", $front using 1:2:('●') with labels font ',12' textcolor rgb '#010001'";
    out.script += ", $labels using 1:2:3 with labels offset char 1,0.7 textcolor rgb '#000000'\n";
    return out;
}

/// The variant that has these two values, if there is one.
std::optional<std::size_t> at_cell(const Comparison& comparison, const std::string& column, const std::string& row) {
    for (std::size_t variant = 0; variant < comparison.variants.size(); ++variant) {
        const auto& settings = comparison.variants[variant].settings;
        const auto across = settings.find(comparison.axes[0].first);
        const auto down = settings.find(comparison.axes[1].first);
        if (across != settings.end() && down != settings.end() && across->second == column && down->second == row)
            return variant;
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::size_t> drawn_variants(const Comparison& comparison, const Analysis& analysis) {
    std::vector<std::size_t> out;
    const auto add = [&](std::size_t variant) {
        if (out.size() < kVariantsDrawnMax && variant < comparison.variants.size() &&
            std::ranges::find(out, variant) == out.end())
            out.push_back(variant);
    };
    add(0);
    if (analysis.verdict.take) add(*analysis.verdict.take);
    if (comparison.variants.size() > kVariantsDrawnMax)
        for (const std::size_t variant : analysis.verdict.pareto) add(variant);
    for (std::size_t variant = 0; variant < comparison.variants.size(); ++variant) add(variant);
    std::ranges::sort(out);
    return out;
}

void draw_lines(Picture& picture, const std::vector<PictureLine>& lines, const std::vector<std::size_t>& drawn,
                const PictureAxes& axes) {
    const Scale scale = scale_of(axes.unit, axes.most);
    std::string curves;
    double last = 1;
    for (const PictureLine& line : lines) {
        if (line.points.empty()) continue;
        const std::size_t name = picture.variants.size();
        picture.script += fmt::format("$d{} << EOD\n", name);
        for (const auto& [x, y] : line.points) {
            picture.script += fmt::format("{:.6g} {:.6g}\n", x, y * scale.factor);
            last = std::max(last, x);
        }
        picture.script += "EOD\n";
        const std::string colour = series_colour(place_of(drawn, line.variant));
        curves += fmt::format(
            "{0}$d{1} using 1:2 with lines lw 1.5 lc {2}, $d{1} using 1:2:('●') with labels font ',9' textcolor {2}",
            name == 0 ? "plot " : ", ", name, colour);
        picture.variants.push_back(line.variant);
    }
    if (curves.empty()) return;
    picture.script =
        script_head(axes.across, axis_title(axes.measure, scale.unit)) +
        fmt::format("set yrange [0:*]\nset xrange [0.8:{:.6g}.2]\nset xtics {}\n", last, std::ceil(last / 10)) +
        picture.script + curves + "\n";
}

std::vector<Picture> pictures_of(const Comparison& comparison, const Analysis& analysis) {
    const std::vector<std::size_t> drawn = drawn_variants(comparison, analysis);
    std::vector<Picture> out;
    std::vector<std::string> measures;
    for (const Distribution& distribution : comparison.distributions)
        if (std::ranges::find(measures, distribution.measure) == measures.end())
            measures.push_back(distribution.measure);
    for (const std::string& measure : measures) {
        const auto distributions = of_measure(comparison, measure, drawn);
        if (distributions.empty()) continue;
        out.push_back(measure == kAttempts ? attempts_picture(comparison, distributions, drawn)
                                           : distribution_picture(comparison, distributions, drawn));
    }
    out.push_back(course_picture(comparison, drawn, {"Backlog through time", "jobs waiting", &Course::backlog}));
    const double step_ms = comparison.courses.empty() ? 0 : comparison.courses.front().step_ms;
    out.push_back(course_picture(
        comparison, drawn, {"Retries through time", "retries per " + quantity_text(step_ms, "ms"), &Course::retries}));
    out.push_back(pareto_picture(comparison, analysis));
    std::erase_if(out, [](const Picture& picture) { return picture.script.empty(); });
    return out;
}

std::string draw(std::vector<Picture>& pictures, const PlotterOptions& options) {
    std::string problem;
    for (Picture& picture : pictures) {
        const auto document = plotted(picture.script, options);
        if (document) picture.svg = svg_element(*document, kainjow::mustache::html_escape(printable(picture.title)));
        if (!document && problem.empty()) problem = document.error();
    }
    return problem;
}

HeatMap heat_map_of(const Comparison& comparison, const Analysis& analysis) {
    constexpr int kShades = 7;
    HeatMap out;
    if (comparison.axes.size() != 2 || analysis.objectives.empty()) return out;
    const std::size_t objective = analysis.objectives[0];
    const Measure& measure = comparison.measures[objective];
    out.measure = measure.name;
    out.across = comparison.axes[0].first;
    out.down = comparison.axes[1].first;
    out.columns = comparison.axes[0].second;
    out.names = comparison.axes[1].second;
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const auto& means : analysis.means) {
        if (!std::isfinite(means[objective])) continue;
        least = std::min(least, means[objective]);
        most = std::max(most, means[objective]);
    }
    const auto shade = [&](double mean) {
        if (!(most > least)) return kShades / 2;
        const double share = (mean - least) / (most - least);
        const double goodness = measure.better == Measure::Better::higher ? share : 1 - share;
        return std::min(kShades - 1, static_cast<int>(goodness * kShades));
    };
    for (const std::string& row : out.names) {
        out.rows.emplace_back();
        for (const std::string& column : out.columns) {
            const auto variant = at_cell(comparison, column, row);
            const double mean = variant ? analysis.means[*variant][objective] : kNone;
            out.rows.back().push_back({quantity_text(mean, measure.unit), std::isfinite(mean) ? shade(mean) : -1,
                                       variant && variant == analysis.verdict.take});
        }
    }
    return out;
}

}  // namespace lockstep::reports
