// The digests of a selection as a file, so that two builds can be compared without running in one place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace lockstep::sim::cli {

struct DigestEntry {
    std::string file;
    std::string name;
    std::uint64_t seed = 0;
    std::uint64_t digest = 0;
    std::uint64_t events = 0;
};

/// `build`: the program that made the runs.
[[nodiscard]] std::string digests_json(const std::vector<DigestEntry>& entries, const std::string& build);
/// The error says what was expected.
[[nodiscard]] tl::expected<std::vector<DigestEntry>, std::string> parse_digests(std::string_view text);

}  // namespace lockstep::sim::cli
