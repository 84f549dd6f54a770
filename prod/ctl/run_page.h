// A workflow run as one HTML page that needs nothing else: its steps as bars over time, and as a graph of what waits for what.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/runtime/time.h"

namespace lockstep::prod {

/// `definition` is null where it is not known: the graph has no edges then.
[[nodiscard]] std::string run_page(const nlohmann::json& run, const nlohmann::json& definition, engine::WallTime now);

}  // namespace lockstep::prod
