#include "sim/search/power_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/result_json.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

std::string code(const std::string& name) { return "`" + name + "`"; }

std::string draws_of(const MechanismPower& power) {
    std::string out;
    for (const PowerSearch& search : power.searches)
        out += fmt::format("{}{}", out.empty() ? "" : ", ", search.found() ? fmt::format("{}", search.draws) : "-");
    return out;
}

/// What noticed, the most frequent first.
std::vector<std::string> noticing(const MechanismPower& power) {
    std::vector<std::pair<std::uint64_t, std::string>> counts;
    for (const auto& [name, count] : power.noticed) counts.emplace_back(count, name);
    std::ranges::sort(counts, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<std::string> names;
    for (const auto& [count, name] : counts) names.push_back(code(name));
    return names;
}

std::string size_text(const MechanismPower& power) {
    if (!power.shrunk) return power.shrink_error.empty() ? "" : power.shrink_error;
    const ScenarioSize& size = *power.shrunk;
    return fmt::format("{} / {} / {} / {}{}", size.jobs, size.replicas, size.workers, size.faults,
                       power.shrinks_once ? "" : " (not final)");
}

std::string shown_by(const PowerReport& report, const std::string& mechanism) {
    const auto found = report.files.find(mechanism);
    return found == report.files.end() ? "" : fmt::format("{}", fmt::join(found->second, ", "));
}

std::string mechanism_table(const PowerReport& report) {
    std::string out =
        "| mechanism | noticed by | draws, each search | median draws | median s | jobs / replicas / workers / faults "
        "| "
        "shown by |\n|---|---|---|--:|--:|---|---|\n";
    for (const MechanismPower& power : report.outcome.mechanisms) {
        const auto names = noticing(power);
        out += fmt::format("| {} | {} | {} | {:.0f} | {:.1f} | {} | {} |\n", code(power.mechanism),
                           names.empty() ? "no invariant" : fmt::format("{}", fmt::join(names, ", ")), draws_of(power),
                           power.median_draws(), power.median_seconds(), size_text(power),
                           shown_by(report, power.mechanism));
    }
    return out;
}

/// Where a mechanism was noticed by this rule: in a search, in a file, or both.
std::string noticed_where(const PowerReport& report, const MechanismPower& power, const std::string& rule) {
    const auto proved = report.proved.find(power.mechanism);
    const bool in_file = proved != report.proved.end() && proved->second.contains(rule);
    const bool in_search = power.noticed.contains(rule);
    if (!in_file && !in_search) return "";
    return fmt::format("{} {}", code(power.mechanism),
                       in_file && in_search ? "(both)"
                       : in_file            ? "(file)"
                                            : "(search)");
}

std::vector<std::string> row_of(const PowerReport& report, const std::string& rule) {
    std::vector<std::string> row;
    for (const MechanismPower& power : report.outcome.mechanisms)
        if (std::string where = noticed_where(report, power, rule); !where.empty()) row.push_back(std::move(where));
    return row;
}

std::string rule_table(const PowerReport& report) {
    std::string out = "| oracle | notices that this is off |\n|---|---|\n";
    for (const std::string& rule : names_of(invariant_table(), true)) {
        const auto row = row_of(report, rule);
        out += fmt::format("| {} | {} |\n", code(rule),
                           row.empty() ? "none of them" : fmt::format("{}", fmt::join(row, ", ")));
    }
    return out;
}

template <class Value>
double median_over(const PowerReport& report, Value value) {
    std::vector<double> values;
    for (const MechanismPower& power : report.outcome.mechanisms)
        if (power.shrunk) values.push_back(static_cast<double>(value(*power.shrunk)));
    return median(std::move(values));
}

std::string shrunk_summary(const PowerReport& report) {
    if (!report.options.shrink) return "Nothing was shrunk in this measurement.\n";
    return fmt::format(
        "Shrunk, the medians are: jobs {:.0f}, replicas {:.0f}, workers {:.0f}, faults {:.0f}; shrinking again changed "
        "nothing for {} of them.\n",
        median_over(report, [](const ScenarioSize& size) { return size.jobs; }),
        median_over(report, [](const ScenarioSize& size) { return size.replicas; }),
        median_over(report, [](const ScenarioSize& size) { return size.workers; }),
        median_over(report, [](const ScenarioSize& size) { return size.faults; }),
        std::ranges::count_if(report.outcome.mechanisms, &MechanismPower::shrinks_once));
}

std::string summary(const PowerReport& report) {
    const auto& mechanisms = report.outcome.mechanisms;
    const auto found = std::ranges::count_if(mechanisms, &MechanismPower::always_found);
    std::vector<double> draws;
    for (const MechanismPower& power : mechanisms) draws.push_back(power.median_draws());
    return fmt::format(
        "{} of {} mechanisms were found in each of their {} searches of at most {} draws; the median over mechanisms "
        "is {:.0f} draws.\n{}",
        found, mechanisms.size(), report.options.repeats, report.options.seeds, median(std::move(draws)),
        shrunk_summary(report));
}

Document size_json(const ScenarioSize& size) {
    return {{"jobs", size.jobs},
            {"replicas", size.replicas},
            {"workers", size.workers},
            {"faults", size.faults},
            {"settings", size.settings}};
}

Document json_of(const PowerReport& report, const MechanismPower& power) {
    Document out = {{"mechanism", power.mechanism},
                    {"median_draws", power.median_draws()},
                    {"median_seconds", power.median_seconds()},
                    {"always_found", power.always_found()},
                    {"searches", Document::array()},
                    {"noticed", Document::object()},
                    {"files", Document::array()}};
    for (const PowerSearch& search : power.searches) {
        Document one = {{"first", search.first}, {"draws", search.draws}, {"seconds", search.seconds}};
        if (search.found()) one.update(Document{{"draw", search.draw}, {"invariant", search.invariant}});
        out["searches"].push_back(std::move(one));
    }
    for (const auto& [name, count] : power.noticed) out["noticed"][name] = count;
    if (const auto files = report.files.find(power.mechanism); files != report.files.end())
        out["files"] = files->second;
    if (power.before) out["before"] = size_json(*power.before);
    if (power.shrunk) {
        out["shrunk"] = size_json(*power.shrunk);
        out["shrinks_once"] = power.shrinks_once;
        out["smallest"] = power.smallest;
    }
    return out;
}

}  // namespace

std::vector<std::string> rules_that_noticed_nothing(const PowerReport& report) {
    std::vector<std::string> names;
    for (const std::string& rule : names_of(invariant_table(), true))
        if (row_of(report, rule).empty()) names.push_back(rule);
    return names;
}

std::string power_markdown(const PowerReport& report) {
    const PowerOptions& options = report.options;
    return fmt::format(
        "# How strong the search is\n\n"
        "Each protective mechanism of the engine is switched off in turn, and `lockstep explore` looks for a failure "
        "among "
        "draws that\nknow nothing of it. What it finds is shrunk. With nothing switched off it must find nothing.\n\n"
        "Made by `{}`\nwith lockstep {}: {} searches for each mechanism, of at most {} draws each, from draw {} "
        "on.\n\n{}\n"
        "## Mechanisms\n\n"
        "Draws are counted up to the first that fails and do not depend on the machine; seconds do. The sizes are "
        "those of "
        "the\nshrunk failure. `-`: the search ended without a failure.\n\n{}\n"
        "## Oracles\n\n"
        "Which mechanisms each oracle notices: in a search, in a scenario file that proves the mechanism, or in "
        "both.\nThe unit tests of each oracle (`sim/rules/`) show what else it notices.\n\n{}",
        report.command, report.version, options.repeats, options.seeds, options.first, summary(report),
        mechanism_table(report), rule_table(report));
}

Document power_json(const PowerReport& report) {
    Document out = {{"version", reports::kResultJsonVersion},
                    {"schema_version", reports::kSchemaVersion},
                    {"lockstep", report.version},
                    {"command", report.command},
                    {"first", report.options.first},
                    {"seeds", report.options.seeds},
                    {"repeats", report.options.repeats},
                    {"mechanisms", Document::array()},
                    {"oracles_without_a_mechanism", rules_that_noticed_nothing(report)},
                    {"planted_breaks_noticed", Document::object()}};  // schema 1.x requires the member
    for (const MechanismPower& power : report.outcome.mechanisms) out["mechanisms"].push_back(json_of(report, power));
    return out;
}

}  // namespace lockstep::sim
