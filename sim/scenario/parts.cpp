#include "sim/scenario/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;

std::vector<std::string> names_in(const json& include) {
    if (include.is_string()) return {include.get<std::string>()};
    std::vector<std::string> names;
    if (include.is_array())
        for (const json& name : include)
            if (name.is_string()) names.push_back(name.get<std::string>());
    return names;
}

tl::expected<json, std::string> part_at(const std::filesystem::path& path) {
    if (!path.string().ends_with(kPartSuffix))
        return tl::make_unexpected(
            fmt::format("at /include: {} is no part: expected a name that ends with {}", path.string(), kPartSuffix));
    const auto text = text_of_file(path);
    if (!text) return tl::make_unexpected(fmt::format("at /include: {} cannot be read", path.string()));
    const auto ordered = engine::wire::read_ordered_json(*text, engine::wire::Comments::skipped);
    if (ordered.is_discarded() || !ordered.is_object())
        return tl::make_unexpected(fmt::format("at /include: {}: expected a JSON object", path.string()));
    json part = engine::wire::sound_json(engine::wire::json_text(ordered));
    if (part.contains("include") || part.contains("matrix"))
        return tl::make_unexpected(
            fmt::format("at /include: {}: a part has neither \"include\" nor \"matrix\"", path.string()));
    return part;
}

std::string path_of(const std::string& assignment) { return assignment.substr(0, assignment.find('=')); }

}  // namespace

std::vector<std::filesystem::path> parts_of(const json& document, const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> parts;
    if (document.is_object() && document.contains("include"))
        for (const std::string& name : names_in(document["include"])) parts.push_back(folder / name);
    return parts;
}

tl::expected<json, std::string> with_parts(json document, const std::filesystem::path& folder) {
    if (!document.is_object() || !document.contains("include")) return document;
    json whole = json::object();
    for (const std::filesystem::path& path : parts_of(document, folder)) {
        auto part = part_at(path);
        if (!part) return tl::make_unexpected(part.error());
        whole.merge_patch(*part);
    }
    document.erase("include");
    whole.merge_patch(document);
    return whole;
}

std::vector<Cell> cells_of(const json& document, const std::vector<std::string>& overrides) {
    std::vector<Cell> cells{{}};
    const auto matrix = document.is_object() ? document.find("matrix") : document.end();
    if (!document.is_object() || matrix == document.end() || !matrix->is_object()) return cells;
    for (const auto& [path, values] : matrix->items()) {
        const bool is_set = std::ranges::any_of(
            overrides, [&path](const std::string& assignment) { return path_of(assignment) == path; });
        if (is_set || !values.is_array() || values.empty()) continue;
        std::vector<Cell> longer;
        for (const Cell& cell : cells) {
            for (const json& value : values) {
                Cell one = cell;
                one.push_back(fmt::format(
                    "{}={}", path, value.is_string() ? value.get<std::string>() : engine::wire::json_text(value)));
                longer.push_back(std::move(one));
                if (longer.size() > kCellsMax) return longer;
            }
        }
        cells = std::move(longer);
    }
    return cells;
}

std::string cell_text(const Cell& cell) {
    std::string out;
    for (const std::string& assignment : cell) {
        const std::string path = path_of(assignment);
        out += fmt::format("{}{}", out.empty() ? "" : ", ", assignment.substr(path.find_last_of("./") + 1));
    }
    return out;
}

}  // namespace lockstep::sim
