// Events of the digest that outlive their telling, for finding where two runs part and for showing what they did there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::sim {

struct RecordedEvent {
    std::uint64_t number = 0;  // in the digest, from 1
    std::int64_t ns = 0;       // of virtual time
    std::string node;          // empty: the world itself
    std::string text;          // as a line of a trace file
    std::string bytes;         // as it entered the digest; the text leaves some of it out
};

/// What to record of a run.
struct Recording {
    bool hashes = false;  // of each single event: 8 bytes each
    /// Whole events, from number `first` up to and including `last`; 0 = none.
    std::uint64_t first = 1;
    std::uint64_t last = 0;
};

struct Recorded {
    std::vector<std::uint64_t> hashes;  // the first is that of event 1
    std::vector<RecordedEvent> events;
};

/// In what two events differ: one line per field, with both values, those of long texts from where they part. Empty when
/// the bytes are equal. REQUIRES: bytes as `encode_event` made them; what is not is reported as such.
[[nodiscard]] std::vector<std::string> differing_fields(const RecordedEvent& a, const RecordedEvent& b);

}  // namespace lockstep::sim
