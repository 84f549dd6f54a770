// Where the safety kernel is, as gRPC names it.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace lockstep::prod {

/// The target for what SAFETY_KERNEL_ADDR says. Several addresses, separated by commas, are several ways to one kernel; the error says
/// how they are written. Anything else is a target of gRPC as it stands.
[[nodiscard]] tl::expected<std::string, std::string> kernel_target(const std::string& address);

}  // namespace lockstep::prod
