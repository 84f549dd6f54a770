// Documents that users may write, read as schedulers do: one that is nested deeper than 64 levels is none (settings.md 4).
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace lockstep::sim {

/// Discarded when it cannot be read.
[[nodiscard]] inline nlohmann::json parse_user_json(std::string_view text) {
    constexpr int kDepthMax = 64;
    bool is_too_deep = false;
    const auto keep = [&is_too_deep](int level, nlohmann::json::parse_event_t, nlohmann::json&) {
        is_too_deep |= level > kDepthMax;
        return !is_too_deep;
    };
    nlohmann::json document = nlohmann::json::parse(text, keep, false);
    return is_too_deep ? nlohmann::json(nlohmann::json::value_t::discarded) : document;
}

}  // namespace lockstep::sim
