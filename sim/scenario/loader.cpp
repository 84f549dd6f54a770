#include "sim/scenario/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/scenario/check.h"
#include "sim/scenario/cross_check.h"
#include "sim/scenario/file_format.h"
#include "sim/scenario/override.h"
#include "sim/scenario/positions.h"
#include "sim/scenario/read.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;

/// The readable half of the parser's message, which begins with its own name and a place in bytes.
std::string syntax_message(const json::exception& error) {
    const std::string text = error.what();
    for (const std::string_view mark : {": syntax error ", "] "}) {
        const auto start = text.find(mark);
        if (start != std::string::npos) return "expected JSON: " + text.substr(start + mark.size());
    }
    return "expected JSON: " + text;
}

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

/// Turns findings into errors with a place in the file, in the order of the file.
class Errors {
public:
    Errors(const std::string& file, std::string_view text) : file_(file), text_(text) {}

    void at_offset(std::size_t offset, std::string message) {
        const Position position = position_at(text_, offset);
        errors_.push_back({file_, "", std::move(message), position.line, position.column});
    }
    void plain(std::string message) { errors_.push_back({file_, "", std::move(message), 0, 0}); }

    void add(const Finding& finding, const Positions& positions, const std::map<std::string, std::string>& overridden) {
        LoadError error{file_, finding.pointer, finding.message, 0, 0};
        for (const auto& [pointer, origin] : overridden) {
            if (finding.pointer != pointer && !finding.pointer.starts_with(pointer + "/")) continue;
            error.expected += fmt::format(" ({})", origin);
            errors_.push_back(std::move(error));
            return;
        }
        const auto found = positions.by_pointer.find(finding.pointer);
        if (found != positions.by_pointer.end()) {
            error.line = found->second.line;
            error.column = found->second.column;
        }
        errors_.push_back(std::move(error));
    }

    [[nodiscard]] bool empty() const { return errors_.empty(); }
    std::vector<LoadError> take() {
        std::ranges::sort(errors_, {}, [](const LoadError& error) {
            return std::tie(error.line, error.column, error.pointer, error.expected);
        });
        return std::move(errors_);
    }

private:
    const std::string& file_;
    std::string_view text_;
    std::vector<LoadError> errors_;
};

/// Applies what the command line asks for. Returns where each override went and how messages name it.
std::map<std::string, std::string> apply(json& document, const LoadOptions& options, Errors& errors) {
    std::map<std::string, std::string> origins;
    for (const std::string& assignment : options.overrides) {
        const auto pointer = apply_override(document, assignment);
        if (pointer)
            origins[*pointer] = "from --set " + assignment;
        else
            errors.plain("--set: " + pointer.error());
    }
    for (const std::string& mechanism : options.without) {
        json& list = document["without"];
        if (list.is_null()) list = json::array();
        if (!list.is_array()) break;  // the table will say so
        origins[child("/without", list.size())] = "from --without";
        list.push_back(mechanism);
    }
    return origins;
}

}  // namespace

Loaded<Scenario> parse_scenario(std::string_view text, const std::string& file, const LoadOptions& options) {
    Errors errors(file, text);
    json document;
    try {
        document = json::parse(text, nullptr, true, true);
    } catch (const json::parse_error& error) {
        errors.at_offset(error.byte == 0 ? 0 : error.byte - 1, syntax_message(error));
        return tl::make_unexpected(errors.take());
    } catch (const json::exception& error) {  // a number that no double can hold
        errors.plain(syntax_message(error));
        return tl::make_unexpected(errors.take());
    }
    const Positions positions = locate(text);
    if (positions.too_deep) {
        errors.plain(fmt::format("expected at most {} levels of nesting", kNestingMax));
        return tl::make_unexpected(errors.take());
    }
    for (const auto& twice : positions.duplicates)
        errors.add({twice.pointer,
                    fmt::format("this key stands in the same object twice: lines {} and {}", twice.first.line,
                                twice.again.line),
                    false},
                   positions, {});

    const auto overridden =
        document.is_object() ? apply(document, options, errors) : std::map<std::string, std::string>{};
    std::vector<Finding> findings;
    check(scenario_shape(), document, "", findings);
    Scenario scenario;
    if (document.is_object()) {
        prune(document, findings);
        scenario = read(document, file, findings);
        if (!options.overrides.empty() || !options.without.empty()) scenario.proves.reset();
        detail::cross_check(document, scenario, findings);
    }
    for (const Finding& finding : findings) errors.add(finding, positions, overridden);
    if (!errors.empty()) return tl::make_unexpected(errors.take());
    return scenario;
}

Loaded<Scenario> load_scenario(const std::filesystem::path& path, const LoadOptions& options) {
    const auto text = text_of_file(path);
    if (!text)
        return tl::make_unexpected(
            std::vector<LoadError>{{path.string(), "", "expected a file that can be read", 0, 0}});
    return parse_scenario(*text, path.string(), options);
}

Loaded<std::vector<std::filesystem::path>> find_scenarios(const std::vector<std::string>& paths) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    std::vector<LoadError> errors;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!fs::is_directory(path, error)) {
            if (fs::exists(path, error))
                files.emplace_back(path);
            else
                errors.push_back({path, "", "there is no such file or folder", 0, 0});
            continue;
        }
        std::vector<fs::path> found;
        for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error), end;
             it != end && !error; it.increment(error)) {
            const std::string name = it->path().filename().string();
            if (it->is_regular_file(error) && name.ends_with(".json") && !name.ends_with(".schema.json"))
                found.push_back(it->path());
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
