// The file format's table as a JSON Schema (draft 2020-12), for editors and for an independent check.
#pragma once

#include <string>

#include "sim/scenario/shape.h"

namespace lockstep::sim {

/// The whole schema, as `pretty` writes it. Shapes with a definition name are written once, under $defs.
[[nodiscard]] std::string json_schema(const Shape& root, const std::string& title, const std::string& description);

}  // namespace lockstep::sim
