// What a person who waits for `shrink` sees.
#pragma once

#include <cstdint>

#include "sim/cli/cli.h"
#include "sim/cli/terminal_line.h"
#include "sim/search/shrink.h"

namespace lockstep::sim::cli {

/// REQUIRES: outlives the options that it watches, and the environment outlives it.
class ShrinkProgress {
public:
    explicit ShrinkProgress(const Environment& environment) : line_(environment.err, environment.watcher) {}

    void watch(ShrinkOptions& options);
    /// Takes the line off, so that something else can be written.
    void clear() { line_.clear(); }

private:
    TerminalLine line_;
};

}  // namespace lockstep::sim::cli
