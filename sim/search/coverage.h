// What draws come across: which settings, request fields, outcomes of calls, changes of state and rare branches a number of
// them has reached, held against everything that is documented. What no draw reaches, no draw tests.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/run/result.h"
#include "sim/scenario/data_loss.h"

namespace lockstep::sim {

/// Something that a draw can reach. Groups stand in the order of `coverage_groups`.
struct CoverageItem {
    std::string group;
    std::string name;
    friend auto operator<=>(const CoverageItem&, const CoverageItem&) = default;
};

namespace coverage {
inline constexpr const char* kTunable = "tunable off its default";
inline constexpr const char* kDocument = "key of a settings document";
inline constexpr const char* kField = "request field";
inline constexpr const char* kMark = "label or variable with a meaning";
inline constexpr const char* kBudget = "limit set by policy";
inline constexpr const char* kCall = "call and its outcome";
inline constexpr const char* kState = "change of state";
inline constexpr const char* kBranch = "rare branch";
}  // namespace coverage

[[nodiscard]] const std::vector<std::string>& coverage_groups();

/// Everything that is documented, in groups. Of calls, the scripts; other kinds of call enter as soon as one was seen, see
/// `with_calls`.
[[nodiscard]] std::set<CoverageItem> documented_items();
/// The same with all outcomes of every call of which any has been reached.
[[nodiscard]] std::set<CoverageItem> with_calls(std::set<CoverageItem> documented,
                                                const std::set<CoverageItem>& reached);

/// What one run reached. REQUIRES: `result` has its history.
[[nodiscard]] std::set<CoverageItem> reached_by(const Scenario& scenario, const RunResult& result);

struct CoverageOptions {
    std::uint64_t first = 1;
    std::uint64_t seeds = 1000;
    DataLoss data_loss{};
    unsigned threads = 1;
    const std::atomic<bool>* stop = nullptr;
    std::function<void(std::uint64_t draws)> on_progress;  // one at a time
};

struct Coverage {
    std::uint64_t draws = 0;
    std::set<std::uint64_t> failed;                // the draws in which an invariant broke, by their numbers
    std::map<CoverageItem, std::uint64_t> counts;  // draws that reached it
    bool interrupted = false;
    [[nodiscard]] std::uint64_t of(const CoverageItem& item) const {
        const auto found = counts.find(item);
        return found == counts.end() ? 0 : found->second;
    }
};

/// The counts do not depend on threads.
[[nodiscard]] Coverage measure_coverage(const Runner& runner, const CoverageOptions& options);

}  // namespace lockstep::sim
