// Whether a schema would apply itself to the same value again and again.
#pragma once

#include <optional>
#include <vector>

#include "engine/expression/json_schema_program.h"

namespace lockstep::engine::schema {

/// A schema that by references and combinations comes back to itself without going into a part of the value; nothing if
/// there is none. REQUIRES: every id that stands in a node is one of a node.
[[nodiscard]] std::optional<NodeId> on_a_circle(const std::vector<Node>& nodes);

}  // namespace lockstep::engine::schema
