// The command line of lockstep-load.
#pragma once

#include <optional>
#include <string>

#include "bench/load/variant.h"

namespace lockstep::bench {

struct Arguments {
    Plan plan;
    /// Where the document goes; empty: nowhere.
    std::string json;
};

struct Parsed {
    /// Nothing when there is nothing to run.
    std::optional<Arguments> arguments;
    int exit_code = 0;
};

/// What it has to say (help, version, mistakes) is printed.
[[nodiscard]] Parsed parse(int argc, const char* const* argv);

}  // namespace lockstep::bench
