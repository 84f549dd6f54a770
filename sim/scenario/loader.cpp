#include "sim/scenario/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/json_member.h"
#include "engine/wire/json_text.h"
#include "sim/scenario/check.h"
#include "sim/scenario/cross_check.h"
#include "sim/scenario/file_format.h"
#include "sim/scenario/override.h"
#include "sim/scenario/parsed_file.h"
#include "sim/scenario/parts.h"
#include "sim/scenario/read.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;

/// Takes what was refused out of the document, so that the rest can be read. Elements of lists become null: the others
/// must keep their places.
void prune(json& document, const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
        if (finding.missing) continue;
        const json::json_pointer pointer(finding.pointer);
        if (pointer.empty() || !document.contains(pointer.parent_pointer())) continue;
        json& parent = document[pointer.parent_pointer()];
        if (parent.is_object())
            parent.erase(pointer.back());
        else if (parent.is_array())
            document[pointer] = nullptr;
    }
}

Scenario read(const json& document, const std::string& file, std::vector<Finding>& findings) {
    using namespace detail;
    Scenario scenario;
    scenario.file = file;
    scenario.name = text_of(document, "name");
    scenario.description = text_of(document, "description");
    scenario.tags = texts_of(document, "tags");
    if (const json* seed = member(document, "seed")) scenario.seed = seed->get<std::uint64_t>();
    scenario.duration = duration_of(document, "duration", scenario.duration);
    scenario.at_least = duration_of(document, "at_least", scenario.at_least);
    const json* cluster = member(document, "cluster");
    scenario.cluster = read_cluster(cluster == nullptr ? json::object() : *cluster);
    // Null elements are kept as empty entries: pointers of later ones count them.
    if (const json* load = member(document, "load")) {
        for (std::size_t i = 0; i < load->size(); ++i)
            scenario.load.push_back((*load)[i].is_object() ? read_load((*load)[i], child("/load", i), findings)
                                                           : Load{});
    }
    if (const json* faults = member(document, "faults")) {
        for (std::size_t i = 0; i < faults->size(); ++i)
            scenario.faults.push_back((*faults)[i].is_object() ? read_fault((*faults)[i], child("/faults", i))
                                                               : Fault{});
    }
    if (const json* chaos = member(document, "chaos")) scenario.chaos = read_chaos(*chaos, scenario.duration);
    scenario.without = texts_of(document, "without");
    if (const json* expect = member(document, "expect"))
        scenario.expect = read_expectations(*expect, "/expect", findings);
    if (const json* proves = member(document, "proves")) scenario.proves = read_proof(*proves, "/proves", findings);
    return scenario;
}

/// Applies what the command line asks for. Returns where each override went and how messages name it.
std::map<std::string, std::string> apply(json& document, const LoadOptions& options, LoadErrors& errors) {
    std::map<std::string, std::string> origins;
    const auto set = [&](const std::string& assignment, const std::string& by) {
        const auto pointer = apply_override(document, assignment);
        if (pointer)
            origins[*pointer] = fmt::format("from {} {}", by, assignment);
        else
            errors.plain(fmt::format("{}: {}", by, pointer.error()));
    };
    for (const std::string& assignment : options.cell) set(assignment, "the matrix");
    for (const std::string& assignment : options.overrides) set(assignment, "--set");
    for (const std::string& mechanism : options.without) {
        json& list = document["without"];
        if (list.is_null()) list = json::array();
        if (!list.is_array()) break;  // the table will say so
        origins[child("/without", list.size())] = "from --without";
        list.push_back(mechanism);
    }
    return origins;
}

/// A file with a matrix is no scenario, but each of its cells is one.
void check_matrix(const json& document, const LoadOptions& options, std::vector<Finding>& findings) {
    if (!document.is_object() || !document.contains("matrix")) return;
    std::vector<std::string> set = options.cell;
    set.insert(set.end(), options.overrides.begin(), options.overrides.end());
    const std::size_t left = cells_of(document, set).size();
    if (left > kCellsMax)
        findings.push_back({"/matrix",
                            fmt::format("these are more than {} scenarios: take values out, or set some with --set "
                                        "PATH=VALUE",
                                        kCellsMax),
                            false});
    else if (left > 1)
        findings.push_back({"/matrix",
                            fmt::format("these are {} scenarios: name one with --set PATH=VALUE for each path", left),
                            false});
    if (document.contains("proves"))
        findings.push_back(
            {"/proves", "a file with a matrix proves nothing of a mechanism: take one of both out", false});
}

/// The place of a mistake that the file has from one of its parts: the last one that says it.
void find_in_parts(LoadError& error, const std::vector<std::filesystem::path>& parts) {
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        const auto text = text_of_file(*part);
        const auto places = text ? places_in(*text) : std::map<std::string, engine::Position>{};
        const auto found = places.find(error.pointer);
        if (found == places.end()) continue;
        error.expected += fmt::format(" (included by {})", error.file);
        error.file = part->string();
        error.line = found->second.line;
        error.column = found->second.column;
        return;
    }
}

}  // namespace

Loaded<Scenario> parse_scenario(std::string_view text, const std::string& file, const LoadOptions& options) {
    LoadErrors errors(file, text);
    auto parsed = errors.parse();
    if (!parsed) return tl::make_unexpected(errors.take());
    const auto parts = parts_of(parsed->document, std::filesystem::path(file).parent_path());
    auto whole = with_parts(std::move(parsed->document), std::filesystem::path(file).parent_path());
    if (!whole) {
        errors.plain(whole.error());
        return tl::make_unexpected(errors.take());
    }
    json& document = *whole;
    if (document.is_object() && engine::wire::text_member(document, "kind") == kFailureKind) {
        errors.plain(fmt::format("this is a failure file, no scenario: lockstep replay {} makes its run again", file));
        return tl::make_unexpected(errors.take());
    }
    std::vector<Finding> findings;
    check_matrix(document, options, findings);
    const auto overridden =
        document.is_object() ? apply(document, options, errors) : std::map<std::string, std::string>{};
    check(scenario_shape(), document, "", findings);
    Scenario scenario;
    if (document.is_object()) {
        prune(document, findings);
        scenario = read(document, file, findings);
        scenario.cell = options.cell;
        if (!options.cell.empty()) scenario.name += fmt::format(" [{}]", cell_text(options.cell));
        if (!options.overrides.empty() || !options.without.empty()) scenario.proves.reset();
        detail::cross_check(document, scenario, findings);
    }
    errors.add(findings, parsed->positions, overridden);
    if (errors.empty()) return scenario;
    std::vector<LoadError> all = errors.take();
    // What was set from elsewhere stands in no part, whatever that says.
    const auto is_overridden = [&overridden](const LoadError& error) {
        return std::ranges::any_of(overridden, [&error](const auto& set) {
            return error.pointer == set.first || error.pointer.starts_with(set.first + "/");
        });
    };
    for (LoadError& error : all)
        if (error.line == 0 && !error.pointer.empty() && !is_overridden(error)) find_in_parts(error, parts);
    return tl::make_unexpected(std::move(all));
}

Loaded<Scenario> load_scenario(const std::filesystem::path& path, const LoadOptions& options) {
    const auto text = text_of_file(path);
    if (!text)
        return tl::make_unexpected(
            std::vector<LoadError>{{path.string(), "", "expected a file that can be read", 0, 0}});
    return parse_scenario(*text, path.string(), options);
}

std::map<std::string, engine::Position> places_in(std::string_view text) {
    if (engine::wire::read_ordered_json(text, engine::wire::Comments::skipped).is_discarded()) return {};
    return engine::locate(text).by_pointer;
}

Loaded<std::vector<Scenario>> load_scenarios(const std::filesystem::path& path, const LoadOptions& options) {
    const auto text = text_of_file(path);
    const auto document = text ? engine::wire::read_ordered_json(*text, engine::wire::Comments::skipped) : nullptr;
    std::vector<Scenario> scenarios;
    std::vector<Cell> cells{{}};
    if (document.is_object() && document.contains("matrix"))
        cells = cells_of(engine::wire::sound_json(engine::wire::json_text(document)), options.overrides);
    if (cells.size() > kCellsMax) cells = {{}};  // the file as it is, which is refused
    for (Cell& cell : cells) {
        LoadOptions of_cell = options;
        of_cell.cell = std::move(cell);
        auto scenario = load_scenario(path, of_cell);
        if (!scenario) return tl::make_unexpected(scenario.error());
        scenarios.push_back(std::move(*scenario));
    }
    return scenarios;
}

bool is_comparison_file(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    if (!name.ends_with(".json") || name.ends_with(".schema.json")) return false;
    if (path.parent_path().filename() == "compare") return true;
    const auto text = text_of_file(path);
    if (!text || text->find("\"question\"") == std::string::npos) return false;
    const auto document = engine::wire::read_ordered_json(*text, engine::wire::Comments::skipped);
    return document.is_object() && document.contains("question");
}

Loaded<std::vector<std::filesystem::path>> find_scenarios(const std::vector<std::string>& paths) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    std::vector<LoadError> errors;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!fs::is_directory(path, error)) {
            if (is_comparison_file(path)) continue;
            if (path != kStandardInput && !fs::exists(path, error))
                errors.push_back({path, "", "there is no such file or folder", 0, 0});
            else if (path.ends_with(kPartSuffix))
                errors.push_back({path, "", "this is a part of scenarios: name a file that includes it", 0, 0});
            else
                files.emplace_back(path);
            continue;
        }
        std::vector<fs::path> found;
        for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error), end;
             it != end && !error; it.increment(error)) {
            const std::string name = it->path().filename().string();
            const bool scenario = name.ends_with(".json") && !name.ends_with(".schema.json") &&
                                  !name.ends_with(kPartSuffix) && !is_comparison_file(it->path());
            if (it->is_regular_file(error) && scenario) found.push_back(it->path());
        }
        std::ranges::sort(found);
        files.insert(files.end(), found.begin(), found.end());
    }
    if (!errors.empty()) return tl::make_unexpected(errors);
    std::vector<fs::path> once;
    for (fs::path& file : files)
        if (std::ranges::find(once, file) == once.end()) once.push_back(std::move(file));
    return once;
}

std::string to_string(const LoadError& error) {
    std::string out = error.file;
    if (error.line > 0) out += fmt::format(":{}:{}", error.line, error.column);
    if (!error.pointer.empty()) out += fmt::format(": at {}", error.pointer);
    return fmt::format("{}: {}", out, error.expected);
}

}  // namespace lockstep::sim
