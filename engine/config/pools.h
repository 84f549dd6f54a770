// Which pools serve a topic, and what a pool offers (settings.md 1). Immutable once built: a reload makes a new
// table and swaps it, picks in progress finish with the old one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace lockstep::engine {

enum class PoolStatus : std::uint8_t { active, draining, inactive };

struct Pool {
    std::vector<std::string> requires_;  // capabilities that the pool offers, trimmed and lower-cased
    PoolStatus status = PoolStatus::active;
};

struct RoutingTable {
    std::map<std::string, std::vector<std::string>, std::less<>> topics;  // topic -> pools, in order of preference
    std::map<std::string, Pool, std::less<>> pools;
};

/// What is wrong with a document, and where in it.
struct DocumentError {
    std::string pointer;  // JSON pointer
    std::string message;
};

/// Parses the pools document from JSON text, as stored in the configuration service or made from pools.yaml. Unknown keys,
/// empty names and wrong types are errors. Topics may name a pool that has no entry: one without capabilities.
/// Capitalised legacy names (`Topics`, `Pools`, `Requires` ...) are read too.
[[nodiscard]] tl::expected<RoutingTable, DocumentError> parse_pools(std::string_view json_text);

/// The table that routing uses: draining and inactive pools are gone, and so are topics that have no pool left.
[[nodiscard]] RoutingTable routable(RoutingTable table);

}  // namespace lockstep::engine
