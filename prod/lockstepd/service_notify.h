// Tells a service manager (systemd, Type=notify) how we are. Does nothing when none started us.
#pragma once

#include <optional>
#include <string_view>

#include "engine/ports/clock.h"
#include "engine/runtime/task.h"
#include "engine/runtime/time.h"

namespace lockstep::prod {

/// For example "READY=1", "STOPPING=1", "STATUS=waiting for Redis".
void notify_service_manager(std::string_view state);

/// How often the manager wants a sign of life at the least ($WATCHDOG_USEC); nothing: it wants none from this process.
[[nodiscard]] std::optional<engine::Duration> watchdog_limit();

/// Gives the signs, two for each `limit`; never ends. It is a step of the loop among the others, and no thread: a loop that is stuck gives
/// none, and the manager ends the process. The clock outlives it.
[[nodiscard]] engine::Task<void> feed_watchdog(const engine::Clock& clock, engine::Duration limit);

/// Asks the manager every second for more time than it would give a stop; never ends. For as long as a drain goes on, whose own limit is
/// that of the settings.
[[nodiscard]] engine::Task<void> extend_stop(const engine::Clock& clock);

}  // namespace lockstep::prod
