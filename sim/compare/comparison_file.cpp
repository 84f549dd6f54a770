#include "sim/compare/comparison_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/config/nearest.h"
#include "engine/wire/json_text.h"
#include "sim/compare/grid.h"
#include "sim/measure/catalogue.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "sim/scenario/load_errors.h"
#include "sim/scenario/parsed_file.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim {

namespace {

using namespace shape;

constexpr double kSeedsMax = 1'000'000;
constexpr double kStepsMax = 50;
constexpr std::size_t kVariantsMax = 200;  // a report of more would be read by nobody
constexpr std::string_view kConfig = "cluster.config.";

Shape setting_value() {
    Shape made = either({text_or_empty(), number(-1e15), flag(), list(text(), 0)});
    made.expected = "a value as in a scenario file";
    return made;
}

Shape span_of_values() {
    return object({{"from", "", setting_value(), true},
                   {"to", "", setting_value(), true},
                   {"steps", "how many values, both ends included", integer(2, kStepsMax), true},
                   {"scale", "even steps (linear, the default) or even ratios (ratio)", word({"linear", "ratio"})}});
}

Shape comparison_shape() {
    Shape values = either({list(setting_value(), 1), span_of_values()});
    values.expected = "a list of values, or {\"from\", \"to\", \"steps\"}";
    return object({
        {"$schema", "for editors", text()},
        {"title", "what the report is called", text(), true},
        {"question", "what it is to answer, one sentence", text(), true},
        {"scenarios", "files, sought from this file's folder", list(text(), 1)},
        {"drawn", "clusters that exploration draws, beside the scenarios or in their place",
         object({{"first", "the number of the first draw; default 1", integer(0, 1e15)},
                 {"count", "", integer(1, 10'000), true}})},
        {"vary",
         "settings and their values: every combination is a variant, the first one is what the others are held against",
         map(values)},
        {"variants", "in place of `vary`: each with its settings; the first is what the others are held against",
         list(object({{"name", "", text(), true}, {"set", "settings and values", map(setting_value()), true}}), 1)},
        {"seeds", "each scenario runs under so many seeds in every variant; default 20", integer(1, kSeedsMax)},
        {"first_seed", "default 1", integer(0, 1e15)},
        {"measures", "what the report shows; default all that were taken", list(text(), 1)},
        {"objectives", "the measures to improve, the most important one first", list(text(), 1)},
        {"limits", "how much worse a measure may become: 0.05 is 5 %", map(number(0, 1e6))},
        {"threshold", "the smallest relative difference of interest; default 0.05", number(1e-6, 100)},
        {"event_faults",
         "faults that are placed on events happen at other times in other variants: `refuse` them (the default), or "
         "name "
         "them as `not_shared`",
         word({"refuse", "not_shared"})},
    });
}

std::string text_of_value(const Document& value) {
    return value.is_string() ? value.get<std::string>() : engine::wire::json_text(value);
}

void check_measure(const std::string& name, const std::string& pointer, std::vector<Finding>& findings) {
    if (std::string why = complaint_about_measure(name); !why.empty())
        findings.push_back({pointer, std::move(why), false});
}

std::vector<std::string> measures_at(const Document& document, const char* key, std::vector<Finding>& findings) {
    std::vector<std::string> names;
    if (!document.contains(key)) return names;
    for (std::size_t i = 0; i < document[key].size(); ++i) {
        names.push_back(document[key][i].get<std::string>());
        check_measure(names.back(), child(std::string("/") + key, i), findings);
    }
    return names;
}

std::vector<Axis> read_axes(const Document& vary, std::vector<Finding>& findings) {
    std::vector<Axis> axes;
    for (const auto& [setting, values] : vary.items()) {
        Axis axis{setting, {}};
        if (values.is_array()) {
            for (const Document& value : values) axis.second.push_back(text_of_value(value));
        } else {
            const std::string scale = values.value("scale", "linear");
            const auto between = values_between(text_of_value(values["from"]), text_of_value(values["to"]),
                                                values["steps"].get<int>(), scale == "ratio");
            if (!between)
                findings.push_back({child("/vary", setting),
                                    "expected two durations or two numbers, both more than 0 where they grow by ratio",
                                    false});
            axis.second = between.value_or(std::vector<std::string>{});
        }
        axes.push_back(std::move(axis));
    }
    return axes;
}

void read_variants(const Document& document, ComparisonPlan& plan, std::vector<Finding>& findings) {
    const bool grid = document.contains("vary");
    if (grid == document.contains("variants")) {
        findings.push_back(
            {"", grid ? "expected \"vary\" or \"variants\", not both" : "expected \"vary\" or \"variants\"", true});
        return;
    }
    if (grid) {
        plan.axes = read_axes(document["vary"], findings);
        std::size_t count = 1;
        for (const auto& [setting, values] : plan.axes) count *= std::max<std::size_t>(values.size(), 1);
        if (count > kVariantsMax) {
            findings.push_back(
                {"/vary", fmt::format("expected at most {} combinations, these are {}", kVariantsMax, count), false});
            return;
        }
        plan.variants = combinations(plan.axes);
        return;
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < document["variants"].size(); ++i) {
        const Document& variant = document["variants"][i];
        VariantPlan& made = plan.variants.emplace_back();
        made.name = variant["name"].get<std::string>();
        if (!names.insert(made.name).second)
            findings.push_back(
                {child(child("/variants", i), "name"), "expected a name that no other variant has", false});
        for (const auto& [setting, value] : variant["set"].items())
            made.settings.emplace_back(setting, text_of_value(value));
    }
}

void read_criteria(const Document& document, ComparisonPlan& plan, std::vector<Finding>& findings) {
    plan.measures = measures_at(document, "measures", findings);
    plan.criteria.objectives = measures_at(document, "objectives", findings);
    plan.criteria.threshold = document.value("threshold", plan.criteria.threshold);
    if (!document.contains("limits")) return;
    for (const auto& [name, share] : document["limits"].items()) {
        check_measure(name, child("/limits", name), findings);
        plan.criteria.limits[name] = share.get<double>();
    }
}

ComparisonPlan read(const Document& document, std::vector<Finding>& findings) {
    ComparisonPlan plan;
    plan.title = document["title"].get<std::string>();
    plan.question = document["question"].get<std::string>();
    if (document.contains("scenarios")) plan.scenarios = document["scenarios"].get<std::vector<std::string>>();
    if (document.contains("drawn")) {
        plan.drawn = document["drawn"]["count"].get<std::uint64_t>();
        plan.first_drawn = document["drawn"].value("first", plan.first_drawn);
    }
    if (plan.scenarios.empty() && plan.drawn == 0)
        findings.push_back({"", "expected \"scenarios\" or \"drawn\"", true});
    plan.seeds = document.value("seeds", plan.seeds);
    plan.first_seed = document.value("first_seed", plan.first_seed);
    plan.event_faults = document.value("event_faults", "refuse") == "not_shared";
    read_variants(document, plan, findings);
    read_criteria(document, plan, findings);
    return plan;
}

}  // namespace

std::vector<std::string> VariantPlan::overrides() const {
    std::vector<std::string> out;
    for (const auto& [setting, value] : settings) {
        const bool bare = setting.find_first_of("./") == std::string::npos;
        out.push_back(fmt::format("{}{}={}", bare ? kConfig : "", setting, value));
    }
    return out;
}

Loaded<ComparisonPlan> parse_comparison(std::string_view text, const std::string& file) {
    LoadErrors errors(file, text);
    const auto parsed = errors.parse();
    if (!parsed) return tl::make_unexpected(errors.take());
    std::vector<Finding> findings;
    check(comparison_shape(), parsed->document, "", findings);
    ComparisonPlan plan;
    // Once more in the order of the file: the first axis of a grid is the one that varies slowest.
    if (findings.empty()) plan = read(engine::wire::read_ordered_json(text, engine::wire::Comments::skipped), findings);
    errors.add(findings, parsed->positions);
    if (!errors.empty()) return tl::make_unexpected(errors.take());
    plan.file = file;
    return plan;
}

Loaded<ComparisonPlan> load_comparison(const std::filesystem::path& path) {
    const auto text = text_of_file(path);
    if (!text)
        return tl::make_unexpected(
            std::vector<LoadError>{{path.string(), "", "expected a file that can be read", 0, 0}});
    auto plan = parse_comparison(*text, path.string());
    if (plan) {
        for (std::string& scenario : plan->scenarios)
            scenario = (path.parent_path() / scenario).lexically_normal().string();
    }
    return plan;
}

tl::expected<ComparisonPlan, std::string> quick_comparison(const std::string& scenario,
                                                           const std::vector<std::string>& vary) {
    ComparisonPlan plan;
    for (const std::string& assignment : vary) {
        const std::size_t equals = assignment.find('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == assignment.size())
            return tl::make_unexpected(fmt::format("--vary: expected NAME=VALUE,VALUE,… and not \"{}\"", assignment));
        Axis axis{assignment.substr(0, equals), {}};
        for (std::size_t from = equals + 1; from <= assignment.size();) {
            const std::size_t comma = std::min(assignment.find(',', from), assignment.size());
            axis.second.push_back(assignment.substr(from, comma - from));
            from = comma + 1;
        }
        plan.axes.push_back(std::move(axis));
    }
    plan.variants = combinations(plan.axes);
    if (plan.variants.size() > kVariantsMax)
        return tl::make_unexpected(
            fmt::format("--vary: expected at most {} combinations, these are {}", kVariantsMax, plan.variants.size()));
    plan.file = scenario;
    plan.scenarios = {scenario};
    plan.title = fmt::format("{} of {}", plan.axes.empty() ? "Measures" : "Tunings",
                             std::filesystem::path(scenario).stem().string());
    plan.question = "Which of these settings serves best?";
    plan.criteria.objectives = {"submit_to_terminal.p99", "submit_to_terminal.mean"};
    return plan;
}

std::string comparison_schema() {
    return json_schema(
        comparison_shape(), "Lockstep comparison",
        "Tunings that are held against each other under the same seeds (see format.md beside the scenarios)");
}

std::vector<std::filesystem::path> find_comparisons(const std::vector<std::string>& paths) {
    namespace fs = std::filesystem;
    std::vector<fs::path> found;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!fs::is_directory(path, error)) {
            if (is_comparison_file(path)) found.emplace_back(path);
            continue;
        }
        for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error), end;
             it != end && !error; it.increment(error)) {
            if (it->is_regular_file(error) && is_comparison_file(it->path())) found.push_back(it->path());
        }
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace lockstep::sim
