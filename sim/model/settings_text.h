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
    std::optional<bool> opens_input_policy;  // its fail mode; any word but "open" closes
    std::optional<TimeLimits> limits;        // nothing: it says nothing of them, or not as documented
    /// The fingerprint of the file that the limits are of, as is recorded beside them, or another text. Nothing: there are no limits, or
    /// no replica may write there.
    std::optional<std::string> file_of_limits;
};
/// Nothing: the document is no JSON object, or its `data` is none.
[[nodiscard]] std::optional<SettingsText> read_settings_text(std::string_view document);

/// It may be that of any file: a SHA-256 in hexadecimal digits.
[[nodiscard]] bool is_fingerprint(std::string_view text);

}  // namespace lockstep::sim
