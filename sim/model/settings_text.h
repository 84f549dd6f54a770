// What an outside observer reads of the document of settings, `cfg:system:default` (settings.md 4 and 5).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep::sim {

/// What `data` says of a setting of the scheduler, in a section of its own or under a flat dotted name; null: nothing.
[[nodiscard]] nlohmann::json scheduler_setting(const nlohmann::json& data, const std::string& name);

/// Whether the document opens the fail mode of the input policy.
[[nodiscard]] bool opens_input_policy(std::string_view document);

}  // namespace lockstep::sim
