#include "reports/compare/comparison_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <kainjow/mustache.hpp>
#include <stdexcept>

#include "reports/compare/page/comparison_markup.html.h"
#include "reports/compare/page/comparison_style.css.h"
#include "reports/compare/pictures.h"
#include "reports/compare/trend.h"
#include "reports/compare/words.h"
#include "reports/text.h"

namespace lockstep::reports {

namespace {

using kainjow::mustache::data;

data list_of() { return data(data::type::list); }

/// A per cent sign stays with its number.
data text_of(std::string_view text) {
    std::string out = printable(text);
    for (std::size_t at = out.find(" %"); at != std::string::npos; at = out.find(" %", at))
        out.replace(at, 1, "\u00a0");
    return out;
}

std::string settings_of(const ComparedVariant& variant) {
    std::vector<std::string> settings;
    for (const auto& [name, value] : variant.settings) settings.push_back(name + "=" + value);
    return fmt::format("{}", fmt::join(settings, ", "));
}

/// "1 to 50", or the numbers themselves where they have gaps and are few.
std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
    if (seeds.empty()) return "none";
    const auto [least, most] = std::ranges::minmax(seeds);
    if (most - least == seeds.size() - 1)
        return seeds.size() == 1 ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    std::string out = fmt::format("{}: ", seeds.size());
    for (std::size_t i = 0; i < seeds.size() && i < 20; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", seeds[i]);
    return out + (seeds.size() > 20 ? ", …" : "");
}

class ComparisonPage {
public:
    ComparisonPage(const Comparison& comparison, const Analysis& analysis, const PlotterOptions& options)
        : comparison_(comparison),
          analysis_(analysis),
          drawn_(drawn_variants(comparison, analysis)),
          pictures_(all_pictures(comparison, analysis)),
          plotter_problem_(draw(pictures_, options)) {}

    [[nodiscard]] std::string text() const {
        std::vector<std::size_t> shown = by_importance();
        std::size_t drawn = pictures_.size();
        for (;;) {
            std::string page = rendered(shown, drawn);
            if (page.size() <= kPageBytesMax || (shown.empty() && drawn == 0)) return page;
            if (shown.empty())
                drawn /= 2;
            else
                shown.resize(shown.size() / 2);
        }
    }

private:
    static std::vector<Picture> all_pictures(const Comparison& comparison, const Analysis& analysis) {
        std::vector<Picture> out = trend_pictures(comparison, analysis);
        std::ranges::move(pictures_of(comparison, analysis), std::back_inserter(out));
        return out;
    }
    /// All but the first variant: the recommended one, the Pareto front, the others.
    [[nodiscard]] std::vector<std::size_t> by_importance() const {
        std::vector<std::size_t> out;
        const auto add = [&](std::size_t variant) {
            if (variant != 0 && std::ranges::find(out, variant) == out.end()) out.push_back(variant);
        };
        if (analysis_.verdict.take) add(*analysis_.verdict.take);
        for (const std::size_t variant : analysis_.verdict.pareto) add(variant);
        for (std::size_t variant = 1; variant < comparison_.variants.size(); ++variant) add(variant);
        return out;
    }

    [[nodiscard]] std::string rendered(std::vector<std::size_t> shown, std::size_t drawn) const {
        data page;
        add_head(page);
        add_variants(page);
        add_pictures(page, drawn);
        add_heat_map(page);
        std::ranges::sort(shown);
        add_tables(page, shown);
        add_origin(page);
        kainjow::mustache::mustache markup{std::string(page::kComparisonMarkup)};
        if (!markup.is_valid()) throw std::logic_error("the markup of the page: " + markup.error_message());
        return markup.render(page);
    }

    [[nodiscard]] const std::string& name(std::size_t variant) const { return comparison_.variants[variant].name; }

    void add_head(data& page) const {
        page.set("style", std::string(page::kComparisonStyle));
        page.set("title", text_of(comparison_.title));
        page.set("has_question", !comparison_.question.empty());
        page.set("question", text_of(comparison_.question));
        page.set("verdict_class", analysis_.verdict.take ? "take" : "none");
        data sentences = list_of();
        for (const std::string& sentence : analysis_.verdict.sentences)
            sentences.push_back({"text", text_of(sentence)});
        page.set("sentences", sentences);
        page.set("rule", text_of(analysis_.verdict.rule));
        page.set("applies", !analysis_.verdict.apply.empty());
        page.set("apply", text_of(fmt::format("{}", fmt::join(analysis_.verdict.apply, "\n"))));
        data warnings = list_of();
        if (!comparison_.complete)
            warnings.push_back(
                {"text",
                 "The comparison was interrupted: some of its runs are missing, and more may change the verdict."});
        for (const std::string& one : comparison_.not_shared)
            warnings.push_back({"text", text_of("The tunings do not share: " + one)});
        page.set("warnings", warnings);
    }

    void add_variants(data& page) const {
        data variants = list_of();
        data failures = list_of();
        data limits = list_of();
        const auto add_limits = [&](std::size_t variant, const char* how,
                                    const std::map<std::string, std::string>& phrases) {
            for (const auto& [measure, phrase] : phrases) {
                data limit;
                limit.set("limited", text_of(name(variant)));
                limit.set("how", how);
                limit.set("limit", text_of(phrase));
                limits.push_back(limit);
            }
        };
        data objectives = list_of();
        for (const std::size_t objective : shown_objectives())
            objectives.push_back({"text", text_of(comparison_.measures[objective].name)});
        page.set("objectives", objectives);
        // A tuning that was made from its settings is named after them.
        const bool has_settings = std::ranges::any_of(
            comparison_.variants, [](const ComparedVariant& one) { return one.name != settings_of(one); });
        page.set("has_settings", has_settings);
        for (std::size_t variant = 0; variant < comparison_.variants.size(); ++variant) {
            const Standing& standing = analysis_.standings[variant];
            const auto place = std::ranges::find(drawn_, variant);
            data one;
            one.set("number", fmt::format("{}", variant + 1));
            one.set("name", text_of(name(variant)));
            one.set("has_settings", has_settings);
            one.set("settings", text_of(settings_of(comparison_.variants[variant])));
            one.set("means", means_of(variant));
            one.set("guards", text_of(worse_guards_of(variant)));
            one.set("runs", number_text(static_cast<double>(standing.runs)));
            one.set("failed", number_text(static_cast<double>(standing.failed)));
            one.set("first", variant == 0);
            one.set("taken", variant == analysis_.verdict.take);
            one.set("drawn", place != drawn_.end());
            one.set("colour", fmt::format("{}", place - drawn_.begin()));
            variants.push_back(one);
            if (standing.failed > 0) {
                data failure;
                failure.set("failed_name", text_of(name(variant)));
                failure.set("failure", text_of(standing.problem));
                failures.push_back(failure);
            }
            add_limits(variant, "breaks the limit on", standing.broken);
            add_limits(variant, "is not shown to keep the limit on", standing.unshown);
        }
        page.set("has_failures", failures.is_non_empty_list());
        page.set("has_limits", limits.is_non_empty_list());
        page.set("variants", variants);
        page.set("failures", failures);
        page.set("limits", limits);
    }

    /// As many as a table has room for.
    [[nodiscard]] std::vector<std::size_t> shown_objectives() const {
        constexpr std::size_t kColumnsMax = 4;
        std::vector<std::size_t> shown = analysis_.objectives;
        shown.resize(std::min(shown.size(), kColumnsMax));
        return shown;
    }

    [[nodiscard]] data means_of(std::size_t variant) const {
        data means = list_of();
        for (const std::size_t objective : shown_objectives()) {
            const Effect::Kind kind = analysis_.effects[variant][objective].kind;
            data one;
            one.set("mean_text",
                    text_of(quantity_text(analysis_.means[variant][objective], comparison_.measures[objective].unit,
                                          largest_mean(analysis_, objective))));
            one.set("mean_of", text_of(comparison_.measures[objective].name));
            one.set("mean_class", kind == Effect::Kind::better ? "better" : kind == Effect::Kind::worse ? "worse" : "");
            means.push_back(one);
        }
        return means;
    }

    [[nodiscard]] std::string worse_guards_of(std::size_t variant) const {
        std::vector<std::string> worse;
        for (std::size_t i = 0; i < comparison_.measures.size(); ++i)
            if (comparison_.measures[i].guard && analysis_.effects[variant][i].kind == Effect::Kind::worse)
                worse.push_back(comparison_.measures[i].name);
        return enumerated(worse);
    }

    static data cells_of(const std::vector<std::string>& texts) {
        data cells = list_of();
        for (std::size_t i = 0; i < texts.size(); ++i) {
            data cell;
            cell.set("text", text_of(texts[i]));
            cell.set("numeric", i > 0);
            cells.push_back(cell);
        }
        return cells;
    }

    [[nodiscard]] data picture_data(const Picture& picture, bool drawn) const {
        data one;
        one.set("picture_title", text_of(picture.title));
        one.set("caption", text_of(picture.caption));
        one.set("has_svg", drawn && !picture.svg.empty());
        one.set("svg", drawn ? picture.svg : "");
        data faults = list_of();
        for (std::size_t i = 0; i < picture.faults.size(); ++i) {
            data entry;
            entry.set("fault_name", text_of(picture.faults[i]));
            entry.set("fault_colour", fmt::format("{}", std::min<std::size_t>(i, 3)));
            faults.push_back(entry);
        }
        one.set("has_faults_key", !picture.faults.empty());
        one.set("fault_key", faults);
        one.set("head", cells_of(picture.table.head));
        data rows = list_of();
        for (const auto& row : picture.table.rows) rows.push_back({"row", cells_of(row)});
        one.set("rows", rows);
        return one;
    }

    void add_pictures(data& page, std::size_t drawn) const {
        data pictures = list_of();
        for (std::size_t i = 0; i < pictures_.size(); ++i) pictures.push_back(picture_data(pictures_[i], i < drawn));
        page.set("pictures", pictures);
        data key = list_of();
        for (std::size_t i = 0; i < drawn_.size(); ++i) {
            data entry;
            entry.set("key_name", text_of(name(drawn_[i])));
            entry.set("key_colour", fmt::format("{}", i));
            key.push_back(entry);
        }
        page.set("key", key);
        page.set("no_plotter", !plotter_problem_.empty());
        page.set("plotter_problem", text_of(plotter_problem_));
        const std::size_t left_out = comparison_.variants.size() - drawn_.size();
        page.set("undrawn", left_out > 0);
        page.set("undrawn_text",
                 fmt::format("Drawn are {} of the {}: the first, the recommended one, then the Pareto front.",
                             drawn_.size(), counted(comparison_.variants.size(), "tuning")));
        data faults = list_of();
        for (const FaultBand& fault : comparison_.faults) {
            data one;
            one.set("fault_kind", text_of(fault.kind));
            one.set("fault_from", number_text(fault.from_ms / 1000) + " s");
            one.set("fault_to", number_text(fault.to_ms / 1000) + " s");
            faults.push_back(one);
        }
        page.set("has_faults", !comparison_.faults.empty() && !comparison_.courses.empty());
        page.set("faults", faults);
    }

    void add_heat_map(data& page) const {
        const HeatMap map = heat_map_of(comparison_, analysis_);
        page.set("has_heat", !map.rows.empty());
        page.set("heat_measure", text_of(map.measure));
        page.set("heat_across", text_of(map.across));
        page.set("heat_down", text_of(map.down));
        data columns = list_of();
        for (const std::string& column : map.columns) columns.push_back({"text", text_of(column)});
        page.set("heat_columns", columns);
        data rows = list_of();
        for (std::size_t i = 0; i < map.rows.size(); ++i) {
            data cells = list_of();
            for (const HeatMap::Cell& cell : map.rows[i]) {
                data one;
                one.set("cell_text", text_of(cell.text));
                one.set("cell_class", fmt::format("{}{}", cell.shade < 0 ? "" : fmt::format("h{}", cell.shade),
                                                  cell.taken ? " taken" : ""));
                cells.push_back(one);
            }
            data row;
            row.set("row_name", text_of(map.names[i]));
            row.set("cells", cells);
            rows.push_back(row);
        }
        page.set("heat_rows", rows);
    }

    [[nodiscard]] data effect_data(std::size_t variant, std::size_t index) const {
        const Measure& measure = comparison_.measures[index];
        const Effect& effect = analysis_.effects[variant][index];
        const auto objective = std::ranges::find(analysis_.objectives, index);
        data one;
        one.set("measure", text_of(measure.name));
        one.set("about", text_of(measure.about));
        one.set("objective", objective != analysis_.objectives.end());
        one.set("objective_number", fmt::format("{}", objective - analysis_.objectives.begin() + 1));
        one.set("effect_class", std::string(effect.negligible ? "" : kind_text(effect.kind)));
        one.set("base", text_of(quantity_text(effect.base_mean, measure.unit)));
        one.set("mean", text_of(quantity_text(effect.mean, measure.unit)));
        one.set("difference", text_of(difference_text(effect, measure.unit)));
        one.set("interval", text_of(interval_text(effect, measure.unit)));
        one.set("words", text_of(effect_words(effect, comparison_.criteria.threshold)));
        return one;
    }

    void add_tables(data& page, const std::vector<std::size_t>& shown) const {
        std::size_t judged = 0;
        for (const auto& effects : analysis_.effects)
            judged += static_cast<std::size_t>(std::ranges::count_if(effects, [](const Effect& effect) {
                return effect.difference_interval.known() && effect.kind != Effect::Kind::same;
            }));
        page.set("judged", number_text(static_cast<double>(judged)));
        page.set("by_chance", number_text(std::ceil(static_cast<double>(judged) * (1 - kConfidence) - 1e-9)));
        page.set("confidence", text_of(percent_text(kConfidence)));
        page.set("threshold", text_of(percent_text(comparison_.criteria.threshold)));
        page.set("first_name", text_of(comparison_.variants.empty() ? "" : name(0)));
        data tables = list_of();
        for (const std::size_t variant : shown) {
            data effects = list_of();
            for (std::size_t i = 0; i < comparison_.measures.size(); ++i) effects.push_back(effect_data(variant, i));
            data table;
            table.set("table_name", text_of(name(variant) + " against " + name(0)));
            table.set("effects", effects);
            // Of many, the one that is asked about first.
            table.set("opened", shown.size() == 1 || variant == analysis_.verdict.take);
            tables.push_back(table);
        }
        page.set("tables", tables);
        const std::size_t others = comparison_.variants.empty() ? 0 : comparison_.variants.size() - 1;
        page.set("left_out", shown.size() < others);
        page.set("left_out_text",
                 fmt::format("{} left out so that the page stays below 2 MB; the JSON and CSV files have them.",
                             counted(others - shown.size(), "table")));
    }

    void add_origin(data& page) const {
        page.set("command", text_of(comparison_.command));
        page.set("version", text_of(comparison_.version));
        page.set("commit", text_of(comparison_.commit));
        page.set("dirty", comparison_.dirty);
        page.set("file", text_of(comparison_.file));
        page.set("run_count", number_text(static_cast<double>(comparison_.runs.size())));
        page.set("seeds", seeds_text(comparison_.seeds));
        page.set("digest", analysis_.digest);
        data scenarios = list_of();
        for (const ComparedScenario& scenario : comparison_.scenarios) {
            data one;
            one.set("scenario_name", text_of(scenario.name));
            one.set("scenario_file", text_of(scenario.file));
            one.set("scenario_hash", text_of(scenario.hash));
            scenarios.push_back(one);
        }
        page.set("scenarios", scenarios);
    }

    const Comparison& comparison_;
    const Analysis& analysis_;
    std::vector<std::size_t> drawn_;
    std::vector<Picture> pictures_;
    std::string plotter_problem_;
};

}  // namespace

std::string comparison_html(const Comparison& comparison, const Analysis& analysis, const PlotterOptions& options) {
    return ComparisonPage(comparison, analysis, options).text();
}

}  // namespace lockstep::reports
