// The version of the programs, from the project's declaration.
#pragma once

namespace lockstep::sim::cli {

extern const char* const kVersion;

}  // namespace lockstep::sim::cli
