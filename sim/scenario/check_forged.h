// What a line of load with a forged packet must be like, beyond the shape of its keys.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/scenario/read.h"

namespace lockstep::sim::detail {

/// `object`: the line as it was written, `at`: its place in the file.
void check_forged(const Load& line, const nlohmann::json& object, const std::string& at,
                  std::vector<Finding>& findings);

}  // namespace lockstep::sim::detail
