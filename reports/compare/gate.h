// The regression gate: a comparison measured now against one kept as a baseline.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/compare/statistics.h"

namespace lockstep::reports {

/// How much worse a measure may become, relative: 0.05 = 5 %.
struct GateThresholds {
    std::map<std::string, double> by_measure;
    double otherwise = 0.05;
};

/// The limits of a comparison, and for the other measures its threshold.
[[nodiscard]] GateThresholds thresholds_of(const Criteria& criteria);

/// The numbers are exit codes.
enum class GateOutcome : std::uint8_t {
    held = 0,       // the whole interval lies within the threshold
    worse = 1,      // the whole interval lies beyond it, or runs fail that passed
    unlike = 2,     // the two cannot be compared
    straddles = 4,  // the interval holds the threshold, or there are too few seeds
};

struct GateLine {
    std::string variant;
    std::string measure;
    double threshold = 0;
    GateOutcome outcome = GateOutcome::held;
    Effect effect;
    std::string text;  // one sentence
};

struct GateResult {
    /// The gravest: unlike, worse, straddles, held.
    GateOutcome outcome = GateOutcome::held;
    std::string problem;          // why they cannot be compared, and the way out
    std::vector<GateLine> lines;  // by variant and measure; measures without a better direction are not judged

    [[nodiscard]] int exit_code() const { return static_cast<int>(outcome); }
};

/// Why the figures of the two cannot be held against each other, as a phrase; empty = they can.
[[nodiscard]] std::string unlike(const Comparison& baseline, const Comparison& now);

/// Runs of the same variant name, scenario and seed are paired. The settings of a variant may differ: they are what changed,
/// as the code may be. Scenarios (by name and hash), seeds, measures and variant names must be the same, and no run may be
/// missing. A measure that many runs have on one side only (a share above its threshold) is not shown to hold.
[[nodiscard]] GateResult gate(const Comparison& baseline, const Comparison& now, const GateThresholds& thresholds);

/// For a terminal: what did not hold, line by line, and the verdict last.
[[nodiscard]] std::string gate_text(const GateResult& result);

}  // namespace lockstep::reports
