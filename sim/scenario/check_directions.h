// What a job says to its own worker by its environment (fakes/worker/worker.h): names and values that are taken.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/scenario/check.h"

namespace lockstep::sim::detail {

/// Of the job in this line of load; its environment stands at `at`.
void check_directions(const nlohmann::json& line, const std::string& at, std::vector<Finding>& findings);

}  // namespace lockstep::sim::detail
