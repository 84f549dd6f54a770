// What is fuzzed of the engine: whatever reads bytes that others have written.
#pragma once

#include <string_view>

namespace lockstep::fuzz {

/// A message of the bus, and everything that handlers ask of it before they know whether it is sound.
void packet(std::string_view input);
/// Requests, dead letters and output records as stored JSON.
void json(std::string_view input);
/// Pools and timeouts, and the document of the configuration service that holds them.
void settings(std::string_view input);
/// The worker snapshot.
void snapshot(std::string_view input);
/// Expressions and templates of workflow definitions.
void expression(std::string_view input);
/// JSON Schemas, and values that are held against them: a list of a schema and values.
void schema(std::string_view input);

}  // namespace lockstep::fuzz
