// A progress bar on one line of a terminal, redrawn at most ten times a second. Writes nothing when switched off.
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>

namespace lockstep::sim::cli {

class Progress {
public:
    Progress(std::ostream& out, bool enabled, std::size_t total) : out_(out), enabled_(enabled), total_(total) {}

    void advance(bool failed);
    /// Takes the bar off the line, so that something else can be written; the next `advance` draws it again.
    void clear();

private:
    void draw();

    std::ostream& out_;
    const bool enabled_;
    const std::size_t total_;
    std::size_t done_ = 0;
    std::size_t failed_ = 0;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace lockstep::sim::cli
