// Tells a service manager (systemd, Type=notify) how we are. Does nothing when none started us.
#pragma once

#include <string_view>

namespace lockstep::prod {

/// For example "READY=1", "STOPPING=1", "STATUS=waiting for Redis".
void notify_service_manager(std::string_view state);

}  // namespace lockstep::prod
