// What an outside observer reads of the document of settings, `cfg:system:default` (settings.md 4 and 5).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/time_limits.h"

namespace lockstep::sim {

/// The pools that serve each topic, as written (settings.md 1).
struct PoolsText {
    struct Pool {
        std::vector<std::string> offers;  // in lower case
        bool is_active = true;
    };
    std::map<std::string, std::vector<std::string>, std::less<>> topics;
    std::map<std::string, Pool, std::less<>> pools;  // one that is not here offers nothing
};

struct SettingsText {
    std::optional<bool> opens_input_policy;   // its fail mode; any word but "open" closes
    std::optional<bool> opens_output_policy;  // the same; nothing: it says nothing of it, or no mode
    bool says_output_mode = false;            // whatever its word
    bool leaves_outputs_unchecked = false;    // it switches their policy off
    std::optional<PoolsText> pools;           // nothing: as `limits`
    std::optional<TimeLimits> limits;         // nothing: it says nothing of them, or not as documented
    /// The fingerprint of the file that the limits are of, as is recorded beside them, or another text. Nothing: there are no limits, or
    /// no replica may write there.
    std::optional<std::string> file_of_limits;
};
/// Nothing: the document is no JSON object, or its `data` is none.
[[nodiscard]] std::optional<SettingsText> read_settings_text(std::string_view document);

/// It may be that of any file: a SHA-256 in hexadecimal digits.
[[nodiscard]] bool is_fingerprint(std::string_view text);

}  // namespace lockstep::sim
