// Documents that users may write, read as schedulers do: one that is nested deeper than 64 levels is none (settings.md 4).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "engine/wire/json_text.h"

namespace lockstep::sim {

/// Discarded when it cannot be read.
[[nodiscard]] inline nlohmann::json parse_user_json(std::string_view text) {
    constexpr int kDepthMax = 64;
    return engine::wire::parse_bounded(text, kDepthMax);
}

/// The `data` of a document of settings: an empty object where it says none; nothing: it cannot be read.
[[nodiscard]] inline std::optional<nlohmann::json> data_in(std::string_view document) {
    nlohmann::json parsed = parse_user_json(document);
    if (!parsed.is_object()) return std::nullopt;
    const auto data = parsed.find("data");
    if (data == parsed.end() || data->is_null()) return nlohmann::json::object();
    return data->is_object() ? std::optional(std::move(*data)) : std::nullopt;
}

}  // namespace lockstep::sim
