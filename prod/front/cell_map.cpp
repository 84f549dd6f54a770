#include "prod/front/cell_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/runtime/invariant.h"
#include "engine/wire/json_text.h"
#include "engine/wire/sha256.h"

namespace lockstep::prod {

CellMap::CellMap(std::vector<std::string> shared, std::map<std::string, std::string, std::less<>> named)
    : shared_(std::move(shared)), named_(std::move(named)) {
    PRECONDITION(!shared_.empty(), "no cell for tenants that are not named");
    std::ranges::sort(shared_);
}

const std::string& CellMap::cell_of(std::string_view tenant) const {
    if (const auto named = named_.find(tenant); named != named_.end()) return named->second;
    const std::string* best = nullptr;
    std::string highest;
    for (const std::string& cell : shared_) {
        // Digits compare as the numbers that they spell.
        std::string weight = engine::wire::sha256_hex(fmt::format("{}/{}", cell, tenant)).substr(0, 16);
        if (best != nullptr && weight <= highest) continue;
        best = &cell;
        highest = std::move(weight);
    }
    return *best;
}

std::string CellMap::text() const {
    // A tenant's name may be any bytes.
    return engine::wire::json_text(nlohmann::json{{"shared", shared_}, {"tenants", named_}});
}

}  // namespace lockstep::prod
