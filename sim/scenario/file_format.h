// The format of a scenario file as one table: the loader validates against it, the JSON Schema is written from it.
#pragma once

#include <string>

#include "sim/scenario/shape.h"

namespace lockstep::sim {

[[nodiscard]] const Shape& scenario_shape();

/// What scenarios/scenario.schema.json must be.
[[nodiscard]] std::string scenario_schema();

namespace format {

// Parts of the table that stand in files of their own.
[[nodiscard]] Shape pools_document();
[[nodiscard]] Shape timeouts_document();
[[nodiscard]] Shape tunables();
[[nodiscard]] Shape fault();
/// The keys that place something on the stream of events; "event" is required.
[[nodiscard]] std::vector<Field> event_filter();
[[nodiscard]] Shape trigger();

}  // namespace format

}  // namespace lockstep::sim
