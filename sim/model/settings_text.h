// What an outside observer reads of the document of settings, `cfg:system:default` (settings.md 4 and 5).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/model/time_limits.h"

namespace lockstep::sim {

/// What `data` says of a setting of the scheduler, in a section of its own or under a flat dotted name; null: nothing.
[[nodiscard]] nlohmann::json scheduler_setting(const nlohmann::json& data, const std::string& name);

struct SettingsText {
    bool opens_input_policy = false;   // its fail mode
    std::optional<TimeLimits> limits;  // nothing: it says nothing of them, or not as documented
};
[[nodiscard]] SettingsText read_settings_text(std::string_view document);

}  // namespace lockstep::sim
