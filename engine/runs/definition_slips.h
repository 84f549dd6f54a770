// What a definition says and an engine does not carry out, or not as its author will expect. An engine leaves alone what it does not
// know (definition.h 1), and runs what it can; `workflow check` and `put` refuse such a definition before it is stored.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "engine/runs/definition.h"

namespace lockstep::engine {

/// Members and types that nobody knows, and whose names are near one that means something. What is far from all of them is taken
/// for somebody else's, and left alone.
[[nodiscard]] std::vector<DefinitionMistake> slips_in(const nlohmann::json& document);

struct DefinitionRemarks {
    std::vector<DefinitionMistake> refused;   // without an effect, or bound to fail
    std::vector<DefinitionMistake> warnings;  // carried out, and perhaps meant otherwise
};
/// `definition` is what `document` holds. `now` tells which times are more than ten years away; nothing: none is.
[[nodiscard]] DefinitionRemarks remarks_on(const nlohmann::json& document, const WorkflowDefinition& definition,
                                           std::optional<WallTime> now = std::nullopt);

}  // namespace lockstep::engine
