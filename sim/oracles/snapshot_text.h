// The worker snapshot as oracles read it off Redis (spec: redis-schema, section 6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::sim {

inline constexpr std::string_view kWorkerSnapshot = "sys:workers:snapshot";

/// The workers that a snapshot names, from the reply to a GET of it. None when it cannot be read.
[[nodiscard]] std::vector<std::string> workers_named_in(std::string_view reply);

}  // namespace lockstep::sim
