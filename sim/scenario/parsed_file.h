// A file as JSON, and where everything stands in it.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/config/json_positions.h"
#include "sim/scenario/load_errors.h"

namespace lockstep::sim {

struct LoadErrors::Parsed {
    nlohmann::json document;
    engine::Positions positions;
};

}  // namespace lockstep::sim
