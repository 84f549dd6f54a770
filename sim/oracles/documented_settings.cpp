#include "sim/oracles/documented_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/bounded_json.h"
#include "engine/wire/text.h"

namespace lockstep::sim {

namespace {

using SettingsDocument = nlohmann::json;

/// Names without the blanks around them; nothing: there is one that is no name.
std::optional<std::vector<std::string>> list_of_names(const SettingsDocument& list) {
    if (!list.is_array()) return std::nullopt;
    std::vector<std::string> names;
    for (const SettingsDocument& item : list) {
        std::string name = item.is_string() ? std::string(engine::wire::trim(item.get_ref<const std::string&>())) : "";
        if (name.empty()) return std::nullopt;
        names.push_back(std::move(name));
    }
    return names;
}

std::optional<engine::Pool> one_pool(const SettingsDocument& node) {
    engine::Pool pool;
    if (node.is_null()) return pool;
    if (!node.is_object()) return std::nullopt;
    for (const auto& [key, value] : node.items()) {
        if (key == "requires" || key == "Requires") {
            if (value.is_null()) continue;
            const auto names = list_of_names(value);
            if (!names) return std::nullopt;
            // Of what a pool offers the case does not matter.
            for (std::string name : *names) {
                for (char& c : name)
                    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
                pool.requires_.push_back(std::move(name));
            }
        } else if (key == "status" || key == "Status") {
            if (value == "draining")
                pool.status = engine::PoolStatus::draining;
            else if (value == "inactive")
                pool.status = engine::PoolStatus::inactive;
            else if (value != "active" && value != "")
                return std::nullopt;
        } else if (key != "description" && key != "drain_started_at" && key != "drain_timeout_seconds" &&
                   key != "Description" && key != "DrainStartedAt" && key != "DrainTimeoutSeconds") {
            return std::nullopt;
        }
    }
    return pool;
}

std::optional<engine::RoutingTable> all_pools(const SettingsDocument& document) {
    if (!document.is_object()) return std::nullopt;
    engine::RoutingTable table;
    for (const auto& [key, section] : document.items()) {
        const bool topics = key == "topics" || key == "Topics";
        if (!topics && key != "pools" && key != "Pools") return std::nullopt;
        if (section.is_null() && !topics) continue;
        if (!section.is_object()) return std::nullopt;
        for (const auto& [written, value] : section.items()) {
            const std::string name(engine::wire::trim(written));
            if (name.empty()) return std::nullopt;
            if (topics) {
                const auto names = list_of_names(value.is_string() ? SettingsDocument::array({value}) : value);
                if (!names || names->empty()) return std::nullopt;
                table.topics.emplace(name, *names);
            } else {
                const auto pool = one_pool(value);
                if (!pool) return std::nullopt;
                table.pools.emplace(name, *pool);
            }
        }
    }
    return table.topics.empty() ? std::nullopt : std::optional(std::move(table));
}

}  // namespace

std::optional<engine::Overlay> read_settings(std::string_view document) {
    const SettingsDocument read = engine::parse_bounded(document);
    if (!read.is_object()) return std::nullopt;
    engine::Overlay settings;
    const auto found = read.find("data");
    if (found == read.end() || found->is_null()) return settings;
    if (!found->is_object()) return std::nullopt;
    if (const auto pools = found->find("pools"); pools != found->end() && !pools->is_null())
        settings.pools = all_pools(*pools);
    return settings;
}

}  // namespace lockstep::sim
