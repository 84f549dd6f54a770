// Events of the digest that outlive their telling, for finding where two runs part and for showing what they did there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::sim {

struct RecordedEvent {
    std::int64_t ns = 0;  // of virtual time
    std::string node;     // empty: the world itself
    std::string text;     // as a line of a trace file
    std::string bytes;    // as it entered the digest; the text leaves some of it out
};

/// What to record of a run.
struct Recording {
    bool hashes = false;      // of each single event: 8 bytes each
    std::uint64_t event = 0;  // the one that is kept whole, by its number in the digest, from 1; 0 = none
};

struct Recorded {
    std::vector<std::uint64_t> hashes;   // the first is that of event 1
    std::optional<RecordedEvent> event;  // nothing: the run had ended
};

}  // namespace lockstep::sim
