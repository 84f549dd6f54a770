// What a container's probe runs inside the container: `lockstepd healthcheck` asks the daemon beside it by the address that both read from
// the same environment (O16).
#pragma once

#include <cstdint>
#include <string>

#include "prod/config/settings.h"

namespace lockstep::prod {

struct HealthCheck {
    bool passed = false;
    std::string said;  // for people: what was asked, and what came of it
};

enum class HealthQuestion : std::uint8_t { lives, is_ready };

/// Asks the listener of the daemon's first role. Takes up to three seconds.
[[nodiscard]] HealthCheck check_health(const Settings& settings, HealthQuestion question);

}  // namespace lockstep::prod
