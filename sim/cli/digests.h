// The digests of a selection as a file, so that two builds can be compared without running in one place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "sim/world/recorded_event.h"

namespace lockstep::sim::cli {

struct DigestEntry {
    std::string file;
    std::string name;
    std::uint64_t seed = 0;
    std::uint64_t digest = 0;
    std::uint64_t events = 0;
    /// Event number and digest so far, every so often: where two runs still agree.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> checkpoints;
    /// The events of the file's range, where it has one.
    std::vector<RecordedEvent> recorded;
};

struct DigestFile {
    std::vector<DigestEntry> entries;
    /// Which events of each run were recorded; both 0 = none.
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::string build{};  // of the program that made the runs; empty = not known
};

[[nodiscard]] std::string digests_json(const DigestFile& file);
/// The error says what was expected.
[[nodiscard]] tl::expected<DigestFile, std::string> parse_digests(std::string_view text);

/// Between which events two runs part: they agree up to and including `agreed` and no longer at `different`, which is 0 when
/// it lies behind the last checkpoint that both have.
struct PartingInterval {
    std::uint64_t agreed = 0;
    std::uint64_t different = 0;
};
[[nodiscard]] PartingInterval parting_interval(const DigestEntry& a, const DigestEntry& b);

}  // namespace lockstep::sim::cli
