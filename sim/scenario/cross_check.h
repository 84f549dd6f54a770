// The rules between distant parts of a scenario: names of nodes, pools, topics and jobs, times against the duration,
// filters against their event. The table cannot state them; a JSON Schema cannot either.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sim/scenario/check.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim::detail {

/// `document` is what `scenario` was read from; it tells which optional keys were given.
void cross_check(const nlohmann::json& document, const Scenario& scenario, std::vector<Finding>& findings);

}  // namespace lockstep::sim::detail
