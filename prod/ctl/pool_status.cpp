#include "prod/ctl/pool_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/config/nearest.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"
#include "engine/wire/text.h"

namespace lockstep::prod {

namespace {

using engine::PoolStatus;
using nlohmann::json;

/// Beyond it a revision is no counter that anybody has kept, as a scheduler sees it at its start.
constexpr std::int64_t kLastRevision = std::int64_t{1} << 53;

tl::unexpected<CommandError> unusable(const std::string& what) {
    return tl::make_unexpected(CommandError{
        kFailed,
        fmt::format("cfg:system:default {}; schedulers do not follow it either, so it has to be mended first", what)});
}

/// The member under its name or its capitalised legacy name; the former where there is neither.
std::string name_in(const json& object, std::string name) {
    std::string legacy = name;
    legacy[0] = static_cast<char>(legacy[0] - 'a' + 'A');
    return object.contains(legacy) ? legacy : name;
}

/// As readers take names, which is without the white space around them.
std::string key_of(const json& section, const std::string& pool) {
    for (const auto& [key, value] : section.items())
        if (engine::wire::trim(key) == pool) return key;
    return pool;
}

std::set<std::string> pools_known(const engine::RoutingTable& table) {
    std::set<std::string> known;
    for (const auto& [name, pool] : table.pools) known.insert(name);
    for (const auto& [topic, pools] : table.topics) known.insert(pools.begin(), pools.end());
    return known;
}

PoolStatus status_in(const engine::RoutingTable& table, const std::string& pool) {
    const auto found = table.pools.find(pool);
    return found == table.pools.end() ? PoolStatus::active : found->second.status;
}

std::vector<std::string> topics_without(const engine::RoutingTable& table, const std::string& pool) {
    std::vector<std::string> topics;
    for (const auto& [topic, pools] : table.topics) {
        const bool concerned = std::ranges::find(pools, pool) != pools.end();
        const bool other = std::ranges::any_of(pools, [&](const std::string& name) {
            return name != pool && status_in(table, name) == PoolStatus::active;
        });
        if (concerned && !other) topics.push_back(topic);
    }
    return topics;
}

void set_status(json& pool, PoolStatus status, engine::WallTime now) {
    if (!pool.is_object()) pool = json::object();
    pool[name_in(pool, "status")] = to_string(status);
    pool.erase("drain_started_at");
    pool.erase("DrainStartedAt");
    if (status == PoolStatus::draining) pool["drain_started_at"] = engine::wire::rfc3339(now);
}

}  // namespace

std::string_view to_string(PoolStatus status) {
    switch (status) {
        case PoolStatus::draining: return "draining";
        case PoolStatus::inactive: return "inactive";
        default: return "active";
    }
}

tl::expected<PoolChange, CommandError> change_pool_status(std::string_view stored, const std::string& pool,
                                                          PoolStatus status, engine::WallTime now) {
    if (stored.empty())
        return tl::make_unexpected(CommandError{kFailed,
                                                "there is no cfg:system:default yet: a scheduler tells of its pools "
                                                "file when it starts (is one running?)"});
    json document = engine::wire::parse_bounded(stored);
    if (!document.is_object()) return unusable("is no JSON object");
    if (!document.contains("data") || !document["data"].is_object() || !document["data"].contains("pools"))
        return unusable("tells of no pools");
    const json revision = document.value("revision", json(0));
    if (!revision.is_number_integer() || revision < 0 || revision >= kLastRevision)
        return unusable("has no revision that could be counted on");
    json& pools = document["data"]["pools"];
    const auto table = engine::parse_pools(engine::wire::json_text(pools));
    if (!table)
        return unusable(fmt::format("has unusable pools: {}: {}", table.error().pointer, table.error().message));
    const std::set<std::string> known = pools_known(*table);
    if (!known.contains(pool))
        return tl::make_unexpected(
            CommandError{kNotFound, fmt::format("there is no pool \"{}\"{}", pool,
                                                engine::suggestion(pool, std::vector(known.begin(), known.end())))});

    PoolChange change{.document = {}, .revision = revision.get<std::int64_t>(), .without_pool = {}};
    if (status != PoolStatus::active) change.without_pool = topics_without(*table, pool);
    if (status_in(*table, pool) == status) return change;
    json& section = pools[name_in(pools, "pools")];
    if (section.is_null()) section = json::object();
    set_status(section[key_of(section, pool)], status, now);
    document["revision"] = ++change.revision;
    document["updated_at"] = engine::wire::rfc3339(now);
    change.document = engine::wire::json_text(document);
    return change;
}

}  // namespace lockstep::prod
