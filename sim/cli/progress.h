// A progress bar on one line of a terminal, redrawn at most ten times a second; in a log, how many runs are done every few seconds.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "sim/cli/terminal_line.h"

namespace lockstep::sim::cli {

class Progress {
public:
    Progress(std::ostream& out, const Watcher& watcher, std::size_t total)
        : line_(out, watcher, std::chrono::milliseconds{100}), total_(total) {}

    void advance(bool failed);
    /// Takes the bar off the line, so that something else can be written; the next `advance` draws it again.
    void clear() { line_.clear(); }

private:
    void draw();

    TerminalLine line_;
    const std::size_t total_;
    std::size_t done_ = 0;
    std::size_t failed_ = 0;
};

}  // namespace lockstep::sim::cli
