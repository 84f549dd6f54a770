#include "engine/config/pools.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "engine/wire/text.h"

namespace lockstep::engine {

namespace {

using Json = nlohmann::json;

DocumentError error(std::string pointer, std::string message) { return {std::move(pointer), std::move(message)}; }

/// One reference token of a JSON pointer.
std::string token(const std::string& name) { return (Json::json_pointer() / name).to_string(); }

tl::expected<std::vector<std::string>, DocumentError> names_of(const Json& value, const std::string& pointer,
                                                               bool scalar_allowed, bool empty_allowed) {
    if (scalar_allowed && value.is_string()) return names_of(Json::array({value}), pointer, false, empty_allowed);
    if (!value.is_array()) return tl::unexpected(error(pointer, "expected a list of names"));
    if (value.empty() && !empty_allowed) return tl::unexpected(error(pointer, "expected at least one name"));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const bool usable = value[i].is_string() && !wire::trim(value[i].get_ref<const std::string&>()).empty();
        if (!usable)
            return tl::unexpected(error(fmt::format("{}/{}", pointer, i), "expected a name that is not empty"));
        names.emplace_back(wire::trim(value[i].get_ref<const std::string&>()));
    }
    return names;
}

tl::expected<PoolStatus, DocumentError> status_of(const Json& value, const std::string& pointer) {
    if (value == "active") return PoolStatus::active;
    if (value == "draining") return PoolStatus::draining;
    if (value == "inactive") return PoolStatus::inactive;
    return tl::unexpected(error(pointer, R"(expected "active", "draining" or "inactive")"));
}

tl::expected<Pool, DocumentError> pool_of(const Json& value, const std::string& pointer) {
    static constexpr std::array<std::string_view, 6> kInformative{"description",           "drain_started_at",
                                                                  "drain_timeout_seconds", "Description",
                                                                  "DrainStartedAt",        "DrainTimeoutSeconds"};
    Pool pool;
    if (value.is_null()) return pool;
    if (!value.is_object()) return tl::unexpected(error(pointer, "expected an object"));
    for (const auto& [key, field] : value.items()) {
        const std::string place = pointer + token(key);
        if (key == "requires" || key == "Requires") {
            if (field.is_null()) continue;  // how Go writes a list that was never made
            auto names = names_of(field, place, false, true);
            if (!names) return tl::unexpected(names.error());
            for (const auto& name : *names) pool.requires_.push_back(wire::ascii_lower(name));
        } else if (key == "status" || key == "Status") {
            if (field == "") continue;
            auto status = status_of(field, place);
            if (!status) return tl::unexpected(status.error());
            pool.status = *status;
        } else if (std::ranges::find(kInformative, key) == kInformative.end()) {
            return tl::unexpected(error(place,
                                        "unknown key; a pool has requires, status, description, drain_started_at, "
                                        "drain_timeout_seconds"));
        }
    }
    return pool;
}

}  // namespace

tl::expected<RoutingTable, DocumentError> parse_pools(std::string_view json_text) {
    const Json document = wire::parse_bounded(json_text);
    if (!document.is_object()) return tl::unexpected(error("", "expected an object with topics and pools"));
    RoutingTable table;
    for (const auto& [key, section] : document.items()) {
        const bool topics = key == "topics" || key == "Topics";
        const bool pools = key == "pools" || key == "Pools";
        if (!topics && !pools) return tl::unexpected(error(token(key), "unknown key; expected topics or pools"));
        if (section.is_null() && pools) continue;
        if (!section.is_object()) return tl::unexpected(error(token(key), "expected an object"));
        for (const auto& [name, value] : section.items()) {
            const std::string place = token(key) + token(name);
            if (wire::trim(name).empty()) return tl::unexpected(error(place, "expected a name that is not empty"));
            if (topics) {
                auto names = names_of(value, place, true, false);
                if (!names) return tl::unexpected(names.error());
                table.topics.emplace(wire::trim(name), std::move(*names));
            } else {
                auto pool = pool_of(value, place);
                if (!pool) return tl::unexpected(pool.error());
                table.pools.emplace(wire::trim(name), std::move(*pool));
            }
        }
    }
    if (table.topics.empty()) return tl::unexpected(error("/topics", "expected at least one topic"));
    return table;
}

RoutingTable routable(RoutingTable table) {
    const auto closed = [&table](const std::string& name) {
        const auto pool = table.pools.find(name);
        return pool != table.pools.end() && pool->second.status != PoolStatus::active;
    };
    for (auto& [topic, names] : table.topics) std::erase_if(names, closed);
    std::erase_if(table.topics, [](const auto& entry) { return entry.second.empty(); });
    std::erase_if(table.pools, [](const auto& entry) { return entry.second.status != PoolStatus::active; });
    return table;
}

}  // namespace lockstep::engine
