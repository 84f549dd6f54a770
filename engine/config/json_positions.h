// Where in the text of a JSON document (comments allowed) each value stands, by JSON pointer; and which keys it gives
// twice, which parsers silently accept.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

struct Position {
    int line = 0;  // from 1; 0 = unknown
    int column = 0;
};

struct Positions {
    std::map<std::string, Position>
        by_pointer;  // of a member: where its key stands; of an element: its first character
    struct Duplicate {
        std::string pointer;
        Position first, again;
    };
    std::vector<Duplicate> duplicates;
    bool too_deep = false;  // nested deeper than kNestingMax; the rest is incomplete then
};

/// Deeper nesting has no meaning in our files, and some of what handles documents recurses.
inline constexpr std::size_t kNestingMax = 64;

/// The JSON pointer of a member, or of an element by its number.
[[nodiscard]] std::string child_pointer(std::string_view parent, std::string_view name);

/// REQUIRES: `text` parses.
[[nodiscard]] Positions locate(std::string_view text);

/// Line and column of a byte offset.
[[nodiscard]] Position position_at(std::string_view text, std::size_t offset);

}  // namespace lockstep::engine
