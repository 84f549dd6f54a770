// The servers of a run at one of its events: what Redis holds, what lies in the streams and who has it in hand, who holds which
// lock, how the circuit stands, which nodes run. Plain data, for printing and for comparing with another event's.
//
// An event told in the middle of a script sees what the script has written up to there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::sim {

struct WorldDump {
    /// A line: what it shows now, and what it is compared by. They differ where time alone changes what is shown.
    struct Line {
        std::string shown;
        std::string compared;
    };
    using Section = std::map<std::string, Line, std::less<>>;  // by the name of the thing

    std::uint64_t event = 0;
    std::int64_t ns = 0;
    std::string what;  // the event, in words
    Section nodes;
    Section redis;  // keys, and each element of them below its key
    Section streams;
    Section consumers;
    Section locks;
    Section circuit;
};

/// A text for people. Its first line begins with kDumpMark.
[[nodiscard]] std::string to_text(const WorldDump& dump);
/// What differs, section by section: "-" was, "+" is, as in a patch. Empty sections are left out.
[[nodiscard]] std::string difference_text(const WorldDump& from, const WorldDump& to);

inline constexpr std::string_view kDumpMark = "# lockstep dump";

}  // namespace lockstep::sim
