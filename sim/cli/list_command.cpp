#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/config/tunables.h"
#include "engine/ports/metrics.h"
#include "engine/ports/rare_branches.h"
#include "engine/wire/json_text.h"
#include "reports/result_json.h"
#include "sim/cli/commands.h"
#include "sim/cli/selection.h"
#include "sim/compare/comparison_file.h"
#include "sim/measure/catalogue.h"
#include "sim/rules/outputs.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/file_format.h"
#include "sim/scenario/proof.h"

namespace lockstep::sim::cli {

namespace {

using nlohmann::json;

/// A line of any topic: a name, what it is, and what else there is to say.
struct Line {
    std::string name;
    std::string help;
    json more = json::object();
    std::string suffix;  // what `more` says, for people
};
using Lines = std::vector<Line>;

Lines of_table(std::span<const NamedItem> table) {
    Lines lines;
    for (const NamedItem& item : table) {
        lines.push_back({std::string(item.name),
                         std::string(item.help),
                         {{"available", item.available}},
                         item.available ? "" : " (not in this version)"});
        if (item.paragraph.empty()) continue;
        lines.back().more["paragraph"] = item.paragraph;
        lines.back().suffix += fmt::format(" ({})", item.paragraph);
    }
    return lines;
}

/// With the file that shows what each is good for, as far as the scenarios are at hand.
Lines mechanisms() {
    const auto loaded = load_all({});
    Lines lines = of_table(mechanism_table());
    for (Line& line : lines) {
        const auto files = loaded ? proofs_of(*loaded, line.name) : std::vector<std::string>{};
        line.more["proved_by"] = files;
        if (!files.empty()) line.suffix += fmt::format(" (proved by {})", fmt::join(files, ", "));
    }
    return lines;
}

Lines faults() {
    Lines lines;
    for (const FaultInfo& fault : fault_table()) {
        std::vector<std::string> names;
        std::vector<std::string> shown;
        for (const FaultArg& arg : fault.args) {
            names.emplace_back(arg.name);
            shown.push_back(arg.required ? std::string(arg.name) : fmt::format("[{}]", arg.name));
        }
        const auto excused = excused_by(fault.loses);
        lines.push_back(
            {std::string(fault.name),
             std::string(fault.help),
             {{"arguments", names}, {"data_loss", fault.loses.any()}, {"excuses", excused}},
             fmt::format(
                 "{}{}{}", shown.empty() ? "" : ": ", fmt::join(shown, ", "),
                 excused.empty() ? "" : fmt::format(" (of what it loses, excuses {})", fmt::join(excused, ", ")))});
    }
    return lines;
}

Lines events() {
    Lines lines;
    for (const EventInfo& event : event_table()) {
        std::vector<std::string> filters{"node", "job", "subject"};
        filters.insert(filters.end(), event.filters.begin(), event.filters.end());
        lines.push_back({std::string(event.name),
                         std::string(event.help),
                         {{"filters", filters}, {"call", event.call}},
                         fmt::format(": {}", fmt::join(filters, ", "))});
    }
    return lines;
}

Lines tunables() {
    const engine::Tunables defaults;
    Lines lines;
    for (const engine::TunableInfo& info : engine::tunable_table()) {
        const std::string value = engine::tunable_text(defaults, info);
        lines.push_back({std::string(info.name),
                         std::string(info.help),
                         {{"default", value}},
                         fmt::format(" (default {})", value)});
    }
    return lines;
}

Lines metrics() {
    Lines lines;
    for (std::size_t i = 0; i < engine::kMetricCount; ++i) {
        const auto& info = engine::info(static_cast<engine::Metric>(i));
        const char* type = info.type == engine::MetricType::counter ? "counter"
                           : info.type == engine::MetricType::gauge ? "gauge"
                                                                    : "histogram";
        const std::vector<std::string> labels(info.labels.begin(), info.labels.end());
        lines.push_back(
            {std::string(info.name),
             std::string(info.help),
             {{"type", type}, {"labels", labels}},
             labels.empty() ? fmt::format(" ({})", type) : fmt::format(" ({} by {})", type, fmt::join(labels, ", "))});
    }
    return lines;
}

Lines measures() {
    Lines lines;
    for (const MeasureInfo& info : measure_table()) {
        const char* suffix = info.kind == MeasureInfo::Kind::samples           ? ".mean, .p50, .p95, .p99, .max"
                             : info.kind == MeasureInfo::Kind::each            ? ".NAME, a number for each"
                             : info.kind == MeasureInfo::Kind::samples_of_each ? ".NAME.mean, and so on, for each"
                                                                               : "";
        lines.push_back({std::string(info.name),
                         std::string(info.about),
                         {{"unit", info.unit}, {"names", suffix}},
                         fmt::format(" ({}{}{})", info.unit, *suffix == '\0' ? "" : "; ", suffix)});
    }
    return lines;
}

Lines branches() {
    Lines lines;
    for (const std::string_view branch : engine::kRareBranches) lines.push_back({.name = std::string(branch)});
    return lines;
}

Lines outputs() {
    Lines lines;
    for (const RegisteredOutput& output : registered_outputs()) {
        const bool is_opaque = !output.opaque.empty();
        Line& line = lines.emplace_back(Line{.name = std::string(output.name)});
        line.help = is_opaque ? fmt::format("opaque: {}", output.opaque) : std::string(output.judged);
        line.more["opaque"] = is_opaque;
    }
    return lines;
}

Lines lines_of(const std::string& topic) {
    if (topic == "invariants") return of_table(invariant_table());
    if (topic == "mechanisms") return mechanisms();
    if (topic == "faults") return faults();
    if (topic == "events") return events();
    if (topic == "tunables") return tunables();
    if (topic == "metrics") return metrics();
    if (topic == "measures") return measures();
    if (topic == "branches") return branches();
    if (topic == "outputs") return outputs();
    return of_table(chaos_kind_table());
}

}  // namespace

Exit list_command(const ListArgs& args, const Environment& environment) {
    if (args.schema) {
        environment.out << (args.topic == "measures" ? comparison_schema() : scenario_schema());
        return Exit::passed;
    }
    const auto topics = args.topic.empty() ? list_topics() : std::vector<std::string>{args.topic};
    json document{{"version", reports::kResultJsonVersion}, {"schema_version", reports::kSchemaVersion}};
    for (const std::string& topic : topics) {
        const Lines lines = lines_of(topic);
        std::size_t width = 0;
        for (const Line& line : lines) width = std::max(width, line.name.size());
        if (!args.json) environment.out << (topic == topics.front() ? "" : "\n") << topic << '\n';
        document[topic] = json::array();
        for (const Line& line : lines) {
            json entry{{"name", line.name}, {"help", line.help}};
            entry.update(line.more);
            document[topic].push_back(std::move(entry));
            const std::string about = line.help + line.suffix;
            if (args.json) continue;
            if (about.empty())
                environment.out << fmt::format("  {}\n", line.name);
            else
                environment.out << fmt::format("  {:<{}}  {}\n", line.name, width, about);
        }
    }
    if (args.json) environment.out << engine::wire::json_text(document, 2) << '\n';
    return Exit::passed;
}

}  // namespace lockstep::sim::cli
