// The table of what draws reach, and whether it is as it should be.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "sim/search/coverage.h"

namespace lockstep::sim {

struct CoverageReport {
    std::string command;  // that makes it anew
    std::set<CoverageItem> items;
    Coverage plain;
    std::optional<Coverage> losing;  // of draws that lose data
};

[[nodiscard]] CoverageReport coverage_report(std::string command, Coverage plain, std::optional<Coverage> losing);

[[nodiscard]] std::string coverage_markdown(const CoverageReport& report);

/// A table that was written before.
struct CoverageTable {
    struct Row {
        std::uint64_t plain = 0;
        std::uint64_t losing = 0;
    };
    std::uint64_t draws = 0;  // without loss of data
    std::uint64_t losing_draws = 0;
    std::map<CoverageItem, Row> rows;
};
/// The error says what is missing in the text.
[[nodiscard]] tl::expected<CoverageTable, std::string> parse_coverage_markdown(std::string_view text);

/// What is wrong, in sentences: an item that nothing has reached and that is not on the reviewed list, an item of that list
/// that was reached, an entry of the list that names nothing.
[[nodiscard]] std::vector<std::string> coverage_complaints(const CoverageReport& report);
/// The same for fewer draws than the table was made with: an item has to be reached where the table lets expect it at least
/// `kExpected` times, the table has to be of this version, and what it says is never reached has to be excused, if it was made
/// with `kEnough` draws.
[[nodiscard]] std::vector<std::string> coverage_complaints(const CoverageReport& report, const CoverageTable& table);

/// Even if draws were independent, one in 20,000 items that are expected as often would be missed.
inline constexpr double kExpected = 10;
/// Of fewer draws it tells nothing that none has reached a thing.
inline constexpr std::uint64_t kEnough = 1000;

}  // namespace lockstep::sim
