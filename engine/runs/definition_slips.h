// What the author of a definition has probably mistyped. An engine leaves alone what it does not know (definition.h 1), so that a
// member or a type whose name has a slip in it would just have no effect; before a definition is stored somebody should say so.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "engine/runs/definition.h"

namespace lockstep::engine {

/// Members and types that nobody knows, and whose names are near one that means something. What is far from all of them is taken
/// for somebody else's, and left alone.
[[nodiscard]] std::vector<DefinitionMistake> slips_in(const nlohmann::json& document);

}  // namespace lockstep::engine
