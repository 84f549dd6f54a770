// Which environment variables are read, and what to say of those that look as if they were (D-18): a name with
// a slip in it leaves the setting that was meant at its default, and nothing else would show it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "prod/config/environment.h"

namespace lockstep::prod {

/// What follows is the name of a tunable.
inline constexpr std::string_view kTunablePrefix = "LOCKSTEP_";

/// What an operator sets a tunable by, unless it has a documented variable of its own.
[[nodiscard]] std::string tunable_variable(std::string_view tunable);

/// A warning for each variable whose name begins like ours and that nobody here reads, with the nearest name. What container
/// platforms set for services of such names (NATS_PORT, REDIS_SERVICE_HOST, REDIS_PORT_6379_TCP_ADDR ...) is none.
[[nodiscard]] std::vector<std::string> unread_variables(const Environment& environment);

/// A mistake for each variable that asks for what this program does not do: to go on without it would not be what was meant.
[[nodiscard]] std::vector<std::string> unsupported_variables(const Environment& environment);

}  // namespace lockstep::prod
