// What a person who waits sees: one line of a terminal, drawn over and over. Writes nothing when nobody watches.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string_view>

namespace lockstep::sim::cli {

class TerminalLine {
public:
    using Interval = std::chrono::milliseconds;

    /// `out` outlives it. `interval`: between two times that it is due. Why 200 ms: digits that change more often cannot be read.
    TerminalLine(std::ostream& out, bool watched, Interval interval = Interval{200})
        : out_(out), watched_(watched), interval_(interval) {}

    /// Whether somebody watches, and what stands there is old, or nothing does.
    [[nodiscard]] bool due() const;
    /// Due or not.
    void draw(std::string_view text);
    /// Takes it off, so that something else can be written.
    void clear();

private:
    using Wall = std::chrono::steady_clock;

    std::ostream& out_;
    const bool watched_;
    const Interval interval_;
    bool drawn_ = false;
    Wall::time_point last_{};
};

}  // namespace lockstep::sim::cli
