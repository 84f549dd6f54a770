// What a person who waits sees: one line of a terminal, drawn over and over. Where the output goes into a file or through a pipe, a
// line of its own every few seconds. Writes nothing when nobody watches.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace lockstep::sim::cli {

/// Who sees what is written while something goes on.
struct Watcher {
    enum class Kind : std::uint8_t {
        nobody,
        log,       // a file or a pipe: what has been written stays
        terminal,  // what has been written can be taken off again
    };
    Kind kind = Kind::nobody;
    /// The wall's time; empty = the process's.
    std::function<std::chrono::steady_clock::time_point()> now{};
};

/// Between two lines of a log. Why 5 s: whoever follows the log sees that something goes on, and an hour of it is not a
/// thousand lines.
inline constexpr std::chrono::seconds kLogInterval{5};

class TerminalLine {
public:
    using Interval = std::chrono::milliseconds;

    /// `out` outlives it. `interval`: between two times that it is due on a terminal. Why 200 ms: digits that change more often cannot
    /// be read.
    TerminalLine(std::ostream& out, Watcher watcher, Interval interval = Interval{200});

    /// Whether somebody watches, and what stands there is old, or nothing does. In a log the first line is due after its interval, too:
    /// what is over sooner needs none.
    [[nodiscard]] bool due() const;
    /// Due or not.
    void draw(std::string_view text);
    /// Takes it off, so that something else can be written.
    void clear();

    [[nodiscard]] bool in_log() const { return watcher_.kind == Watcher::Kind::log; }

private:
    using Wall = std::chrono::steady_clock;

    [[nodiscard]] Wall::time_point now() const { return watcher_.now ? watcher_.now() : Wall::now(); }

    std::ostream& out_;
    const Watcher watcher_;
    const Interval interval_;
    bool drawn_ = false;
    Wall::time_point last_;
};

}  // namespace lockstep::sim::cli
