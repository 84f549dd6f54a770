// What is in force and where it comes from, variable by variable: for `lockstepd config print`. Secrets are masked.
#pragma once

#include <string>
#include <vector>

#include "engine/config/tunables.h"
#include "prod/config/environment.h"
#include "prod/config/settings.h"

namespace lockstep::prod {

struct EffectiveSetting {
    std::string name;
    std::string value;   // as it would be written; empty: none. Of secrets `***`
    std::string source;  // `default`, `environment`, `environment (OTHER_NAME)`, `file PATH`, `command line`
};

/// What is known beside the environment.
struct SettingSources {
    const Settings& settings;
    const engine::Tunables& in_force;  // those of the settings, with what the timeouts file says
    bool role_by_option = false;
};

/// Every variable of the table and every tunable, in their order. `environment` is what `settings` were read from.
[[nodiscard]] std::vector<EffectiveSetting> effective_settings(const Environment& environment,
                                                               const SettingSources& sources);

/// For people: a line for each, what differs from the defaults first.
[[nodiscard]] std::string as_text(const std::vector<EffectiveSetting>& settings);
/// {"schema_version":1,"settings":{NAME:{"value":…,"source":…}}}
[[nodiscard]] std::string as_json(const std::vector<EffectiveSetting>& settings);

}  // namespace lockstep::prod
