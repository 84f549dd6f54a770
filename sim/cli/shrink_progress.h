// What a person who waits for `shrink` sees: one line of a terminal, redrawn at most five times a second. Writes nothing when
// nobody watches.
#pragma once

#include <chrono>
#include <cstdint>

#include "sim/cli/cli.h"
#include "sim/search/shrink.h"

namespace lockstep::sim::cli {

/// REQUIRES: outlives the options that it watches, and the environment outlives it.
class ShrinkProgress {
public:
    explicit ShrinkProgress(const Environment& environment) : environment_(environment) {}

    void watch(ShrinkOptions& options);
    /// Takes the line off, so that something else can be written.
    void clear();

private:
    void show(const ScenarioSize& size, std::uint64_t runs);

    const Environment& environment_;
    std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace lockstep::sim::cli
